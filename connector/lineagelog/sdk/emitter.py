"""Hand events to the OpenLineage client: at once where its transport is quick, in the background where it may wait."""

from __future__ import annotations

import atexit
import os
import threading
import warnings
from typing import TYPE_CHECKING, Any, Final

from openlineage.client.client import OpenLineageClient

from .config import SdkConfig, load_config
from .courier import Courier, MemoryQueue, Pace
from .guard import describe, forget_warnings, guarded, warn_once
from .transport import leave_all

if TYPE_CHECKING:
    from openlineage.client.transport import Transport

    from .events import Event

_QUICK: Final = frozenset(("noop", "console", "async_http"))
_MAX_WAITING: Final = 10_000


class Emitter:
    """One client, its settings, and where needed a thread that sends."""

    def __init__(self, config: SdkConfig, client: OpenLineageClient | None) -> None:
        self.config = config
        self.client = client
        self._quick = client is None or is_quick(client.transport)
        self._queue: MemoryQueue[Event] = MemoryQueue(_MAX_WAITING)
        self._courier = Courier(self._queue, self._deliver, Pace(batch=1, patience=config.exit_timeout))

    @guarded("emitting an event", None)
    def emit(self, event: Event) -> None:
        """Send an event, or see to it that it is sent. Never raises, never waits for a network."""
        if self.client is None:
            return
        if self._quick:
            self.client.emit(event)
        else:
            self._queue.append(event)
            self._courier.notify()

    def flush(self, timeout: float) -> bool:
        """Wait until all events are delivered, at most so many seconds; whether they are."""
        done = True
        if not self._quick:
            done = self._courier.flush(timeout)
        transport_flush = getattr(self.client and self.client.transport, "flush", None)
        return bool(transport_flush(timeout)) and done if callable(transport_flush) else done

    def leave(self) -> None:
        """At the end of the process: wait for what is under way."""
        if not self._quick:
            self._courier.leave(self.config.exit_timeout)

    def _deliver(self, events: list[Event]) -> int:
        for event in events:
            try:
                if self.client is not None:
                    self.client.emit(event)
            except Exception as problem:  # the client's transport has retried; what it gives up is lost
                warn_once(f"lineage: an event is lost: {describe(problem)}")
        return len(events)


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
        return OpenLineageClient()


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


@atexit.register
def _leave() -> None:
    """What is left here first: it may go to a transport that has to be left, too."""
    if _emitter is not None:
        _emitter.leave()
    leave_all()
