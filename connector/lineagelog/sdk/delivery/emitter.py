"""Hand events to the OpenLineage client: at once where its transport is quick, in the background where it may wait."""

from __future__ import annotations

import os
import threading
import warnings
from typing import TYPE_CHECKING, Any, Final

from openlineage.client.client import OpenLineageClient
from openlineage.client.event_v2 import RunEvent

from lineagelog.sdk.config import SdkConfig, load_config
from lineagelog.sdk.events import EventType
from lineagelog.sdk.guard import describe, forget_warnings, guarded, warn_once
from lineagelog.sdk.transport import BatchTransport, mind_pages, take_own_session, warn_of_loss

from . import lives, process
from .courier import Courier, CourierPace, MemoryQueue

if TYPE_CHECKING:
    from openlineage.client.transport import Transport

    from lineagelog.sdk.events import Event

_QUICK: Final = frozenset(("noop", "console", "async_http"))
_MAX_WAITING: Final = 10_000
_ROOM_PATIENCE: Final = 5.0
"""Seconds without a delivery after which a full queue drops events; the client's own time-out."""
_ENDS: Final = (EventType.COMPLETE, EventType.FAIL, EventType.ABORT)


class Emitter:
    """One client, its settings, and where needed a thread that sends."""

    def __init__(self, config: SdkConfig, client: OpenLineageClient | None) -> None:
        self.config = config
        self.client = client
        self._quick = client is None or is_quick(client.transport)
        self._process = os.getpid()
        self._queue: MemoryQueue[tuple[Event, bool]] = MemoryQueue(_MAX_WAITING)
        self._courier = Courier(self._queue, self._deliver, CourierPace(batch=1, patience=config.exit_timeout))

    @guarded("emitting an event", None)
    def emit(self, event: Event, *, owned: bool = False) -> None:
        """Send an event, or see to it that it is sent. Never raises, never waits for a network that is away.

        ``owned``: it is of a run that this process will end. A queue that is full makes it wait, as the client's own
        transport would, as long as the other side takes events.
        """
        if self.client is None:
            return
        process.arm()
        if self._quick:
            self._hand_over(self.client, event, owned=owned)
            return
        if self._queue.is_full():
            self._courier.settle(_ROOM_PATIENCE, lambda: not self._queue.is_full())
        try:
            self._queue.append((event, owned))
        finally:
            self._courier.notify()

    def flush(self, timeout: float) -> bool:
        """Wait until all events are delivered, at most so many seconds; whether they are."""
        done = True
        if not self._quick:
            done = self._courier.flush(timeout)
        transport_flush = getattr(self.client and self.client.transport, "flush", None)
        return bool(transport_flush(timeout)) and done if callable(transport_flush) else done

    @guarded("waiting for the delivery of events", None)
    def settle(self) -> None:
        """Wait for what is in memory alone, as long as the other side takes events."""
        if not self._quick:
            self._courier.settle(self.config.exit_timeout)
        transport = self.client and self.client.transport
        for each in getattr(transport, "transports", None) or [transport]:
            if isinstance(each, BatchTransport):
                each.settle(self.config.exit_timeout)

    def leave(self) -> None:
        """At the end of the process: wait for what is under way, and say what is lost."""
        if not self._quick:
            done = self._courier.leave(self.config.exit_timeout)
            warn_of_loss(self._courier.missed + (0 if done else self._queue.size()))

    def _hand_over(self, client: OpenLineageClient, event: Event, *, owned: bool) -> None:
        if not owned:
            client.emit(event)
            return
        with lives.owned():
            client.emit(event)
        if isinstance(event, RunEvent) and event.eventType in _ENDS:
            lives.forget(event.run.runId)

    def _deliver(self, items: list[tuple[Event, bool]]) -> int:
        for event, owned in items:
            try:
                if self.client is not None:
                    if self._process != os.getpid():
                        self._process = os.getpid()
                        take_own_session(self.client.transport)
                    self._hand_over(self.client, event, owned=owned)
            except Exception as problem:  # the client's transport has retried; what it gives up is lost
                self._courier.missed += 1
                warn_once(f"lineage: an event is lost: {describe(problem)}")
        return len(items)


def is_quick(transport: Transport) -> bool:
    """Whether a transport's `emit` waits for nothing but a local disk."""
    if getattr(transport, "local", False) or transport.kind in _QUICK:
        return True
    if transport.kind == "file":
        config: Any = transport.config  # type: ignore[attr-defined]
        return not config.filesystem and "://" not in str(config.log_file_path)
    if transport.kind == "composite":
        return all(is_quick(child) for child in transport.transports)  # type: ignore[attr-defined]
    return False


_lock = threading.RLock()  # re-entrant: a signal handler may come in between
_emitter: Emitter | None = None


def _own_lock() -> None:
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_own_lock)


def emitter() -> Emitter:
    """The emitter of this process, made by the first use. Never raises: without a usable client events are dropped."""
    made = _emitter
    if made is None:
        with _lock:
            made = _emitter or _make()
    return made


def _make(client: OpenLineageClient | None = None, **settings: Any) -> Emitter:
    global _emitter
    try:
        made = Emitter(load_config(**settings), client or _client())
    except Exception as problem:
        warn_once(f"lineage: no events can be sent: {describe(problem)}")
        made = Emitter(SdkConfig(), None)
    _emitter = made
    return made


@guarded("making the OpenLineage client", None)
def _client() -> OpenLineageClient | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client = OpenLineageClient()
    if client.transport:
        mind_pages(client.transport)
    return client


def configure(
    client: OpenLineageClient | None = None,
    *,
    namespace: str | None = None,
    dataset_namespace: str | None = None,
    wait: float | None = None,
    exit_timeout: float | None = None,
    lookup_timeout: float | None = None,
) -> None:
    """Set what else openlineage.yml and the environment say, and read these again.

    ``client``: an OpenLineage client of your own. The others: see `SdkConfig`. Runs that have started keep their
    namespaces and send the rest of their events to the new client.
    """
    settings = {
        "namespace": namespace,
        "dataset_namespace": dataset_namespace,
        "wait": wait,
        "exit_timeout": exit_timeout,
        "lookup_timeout": lookup_timeout,
    }
    forget_warnings()
    with _lock:
        _make(client, **settings)


def flush(timeout: float = 5.0) -> bool:
    """Wait until all events of this process are delivered, at most ``timeout`` seconds; whether they are."""
    return emitter().flush(timeout)


def _leave() -> None:
    """Before the transports are left: what waits here may go to one of them."""
    if _emitter is not None:
        _emitter.leave()


process.at_end(_leave)
