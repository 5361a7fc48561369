"""Transports for the OpenLineage client: a spool on disk, and batches. For openlineage.yml by their dotted path.

transport:
  type: lineagelog.sdk.transport.SpoolTransport
  transport:
    type: http
    url: http://127.0.0.1:5000
"""

from __future__ import annotations

import copy
import functools
import hashlib
import json
import os
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol
from urllib.parse import urljoin

import attr
import requests
from openlineage.client import OpenLineageClient
from openlineage.client.serde import Serde
from openlineage.client.transport import Config, HttpConfig, HttpTransport, Transport, get_default_factory

from lineagelog.errors import InputError, SettingsError
from lineagelog.sdk.delivery import lives, process
from lineagelog.sdk.delivery.courier import Courier, CourierPace, MemoryQueue, TryLaterError
from lineagelog.sdk.delivery.lives import Lives, is_owned
from lineagelog.shown import counted
from lineagelog.spool import DEFAULT_MAX_BYTES, Spool, SpoolReader

from .events import Event, event_from_plain
from .guard import describe, warn_once

_NOT_ALLOWED: Final = frozenset((401, 403))
_UNSUPPORTED: Final = frozenset((404, 405, 501))
_PAGES: Final = ("text/html", "application/xhtml+xml")
_AGAIN: Final = frozenset((401, 403, 404, 405, 407, 408, 421, 425, 426, 429))
"""Client errors that are not the event's fault: a token, an address or a load that may be right later."""
_WHOLE_BATCH_REFUSED: Final = frozenset((400, 413, 415, 422))
_ONE_ATTEMPT: Final = {"total": 0, "connect": 0, "read": 0, "status": 0, "raise_on_status": False}
_EXIT_TIMEOUT: Final = 2.0


@attr.define
class BatchConfig(HttpConfig):
    """The settings of the http transport, and those of `BatchTransport`."""

    batch_endpoint: str = ""
    batch_size: int = 100
    batch_bytes: int = 4 * 1024 * 1024
    flush_interval: float = 0.5
    queue_size: int = 10_000
    exit_timeout: float = _EXIT_TIMEOUT

    @classmethod
    def from_dict(cls, params: dict[str, Any]) -> BatchConfig:
        """Read the settings; a retry policy that is not given is ours (the client's would hold a delivery for 9 s)."""
        config = super().from_dict({**params, "retry": {**_ONE_ATTEMPT, **params.get("retry", {})}})
        assert isinstance(config, cls)  # noqa: S101 - the client's own from_dict makes cls
        config.batch_endpoint = config.batch_endpoint or f"{config.endpoint.rstrip('/')}/batch"
        for name in ("batch_size", "batch_bytes", "queue_size"):
            setattr(config, name, max(1, int(getattr(config, name))))
        return config


class BatchTransport(HttpTransport):
    """Send events many at a time to ``/lineage/batch``, in a background thread; one by one where there is no batch.

    Settings, beyond those of the client's ``http``: ``batch_endpoint`` (the endpoint and ``/batch``), ``batch_size``
    (100 events), ``batch_bytes`` (4 MiB), ``flush_interval`` (0.5 s until a batch that is not full is sent),
    ``queue_size`` (10,000 events in memory; more are dropped and logged), ``exit_timeout`` (2 s at the end of the
    process without a delivery).
    """

    kind = "lineagelog_batch"
    config_class = BatchConfig
    local: ClassVar[bool] = True
    """`emit` only puts the event into a queue."""

    def __init__(self, config: BatchConfig) -> None:
        """Make the transport; nothing is sent before the first event."""
        super().__init__(config)
        self._batching = config.batch_size > 1
        self._batch_endpoint = config.batch_endpoint or f"{config.endpoint.rstrip('/')}/batch"
        self._queue: MemoryQueue[bytes] = MemoryQueue(config.queue_size)
        pace = CourierPace(
            config.batch_size,
            config.batch_bytes,
            linger=config.flush_interval,
            patience=config.exit_timeout,
            answer=config.timeout + 1 if config.exit_timeout else 0.0,
        )
        self._courier = Courier(self._queue, self.deliver, pace)
        self._exit_timeout = config.exit_timeout
        self._process = os.getpid()
        _close_at_exit(self)

    def emit(self, event: Event) -> None:  # type: ignore[override]  # the client's gives the response
        """Queue an event; it is sent in the background. Raises SpoolError when the queue is full."""
        process.arm()
        try:
            self._queue.append(serialized(event))
        finally:
            self._courier.notify()

    def settle(self, patience: float) -> bool:
        """Wait as long as events are delivered, until none was for so many seconds; whether all are."""
        return self._courier.settle(patience)

    def flush(self, timeout: float = -1) -> bool:
        """Wait until all events are delivered; whether they are."""
        return self._courier.flush(timeout)

    def close(self, timeout: float = -1) -> bool:
        """`flush`, and end the thread."""
        done = self._courier.close(timeout)
        super().close(timeout)
        return done

    def leave(self) -> None:
        """At the end of the process."""
        if not self._courier.leave(self._exit_timeout):
            warn_of_loss(self._queue.size())

    # --- delivery ---------------------------------------------------------------------------------------------------

    def deliver(self, events: list[bytes]) -> int:
        """Send serialized events and say how many of the first of them are done with: accepted or refused for good.

        Those refused are logged. Raises TryLaterError if not even the first is.
        """
        if not self._batching or len(events) == 1:
            return self._deliver_singly(events)[0]
        response = self._post(self._batch_endpoint, b"[" + b",".join(events) + b"]")
        if _accepted(response):
            return self._done_of_batch(response, events)
        if response.status_code in _UNSUPPORTED:
            self._batching = False
            return self._deliver_singly(events)[0]
        if response.status_code in _WHOLE_BATCH_REFUSED:
            done, refused = self._deliver_singly(events)
            if not refused and response.status_code != 413:  # it is batches that this side does not like
                self._batching = False
            return done
        raise _later(response)

    def post(self, event: bytes) -> None:
        """Send one serialized event as it is. Raises TryLaterError, or InputError if it is refused.

        Somebody waits for the answer: a missing or wrong token is a refusal here, as is an address that is none.
        """
        response = self._post(self.endpoint, event)
        status = response.status_code
        if status in _NOT_ALLOWED:
            why = "set OPENLINEAGE_API_KEY, or `auth` in openlineage.yml, to a token that may send events"
            raise InputError(f"{response.url} refuses with HTTP {status} {response.text[:200]}: {why}")
        if _refusing(response) or status in _UNSUPPORTED:
            raise InputError(f"{response.url} refuses with HTTP {status} {response.text[:200]}")
        if not _accepted(response):
            raise _later(response)

    def _done_of_batch(self, response: requests.Response, events: list[bytes]) -> int:
        """How many are done with after an accepted batch: up to the first that is to be tried again."""
        if response.status_code != 200:
            return len(events)
        again = []
        for failed in _failed_events(response):
            index, reason = failed.get("index"), str(failed.get("reason", "refused"))
            if type(index) is int and 0 <= index < len(events):
                if failed.get("retriable") is True:
                    again.append(index)
                else:
                    _refused(events[index], reason)
        done = min(again, default=len(events))
        if done == 0:
            raise TryLaterError("the backend asks to send an event again", answered=True)
        return done

    def _deliver_singly(self, events: list[bytes]) -> tuple[int, int]:
        """Send one by one: how many are done with, and how many of these were refused."""
        refused = 0
        for index, event in enumerate(events):
            try:
                response = self._post(self.endpoint, event)
                if not _accepted(response) and not _refusing(response):
                    raise _later(response)
            except TryLaterError:
                if index == 0:
                    raise
                return index, refused
            self._courier.moved()
            if not _accepted(response):
                refused += 1
                _refused(event, f"HTTP {response.status_code} {response.text[:200]}")
        return len(events), refused

    def _post(self, endpoint: str, body: bytes) -> requests.Response:
        if self._process != os.getpid():
            self._process = os.getpid()
            take_own_session(self)
        data, headers = self._prepare_request(body.decode())
        cert = getattr(self, "cert", None)  # older clients have none
        options: dict[str, Any] = {"cert": cert} if cert is not None else {}
        url = urljoin(self.url, endpoint)  # as the client's own transport joins them
        try:
            return self.session.post(
                url,
                data=data if isinstance(data, bytes) else data.encode(),
                headers=headers,
                timeout=self.timeout,
                verify=self.verify,
                allow_redirects=False,  # a redirected POST becomes a GET, and its event is lost
                **options,
            )
        except requests.exceptions.RequestException as problem:
            raise TryLaterError(f"{self.url}: {describe(problem)}") from problem


def take_own_session(transport: Transport) -> None:
    """In a forked child: connections of its own, as on shared ones the answers to parent and child get mixed up.

    The parent's are neither used nor closed, nor are the locks around them, which a fork may have left held.
    """
    for each in getattr(transport, "transports", None) or [transport]:
        if isinstance(each, HttpTransport) and each._session is not None:
            each._session = copy.deepcopy(each._session)  # as sessions pickle: settings without connections


def mind_pages(transport: Transport) -> None:
    """Make the client's own http transports raise where a page for people answers: they take its 200 for a yes."""
    for each in getattr(transport, "transports", None) or [transport]:
        if type(each) is HttpTransport:
            each.emit = functools.partial(_emit_minding_pages, each.emit)  # type: ignore[method-assign]


def _emit_minding_pages(emit: Callable[[Event], requests.Response], event: Event) -> requests.Response:
    response = emit(event)
    if isinstance(response, requests.Response) and not _accepted(response):
        raise _later(response)
    return response


def warn_of_loss(count: int) -> None:
    """Say at the end of the process how many events were in memory."""
    if count:
        warn_once(f"lineage: {counted(count, 'events')} not delivered before the end of the process, and lost")


def serialized(event: Event) -> bytes:
    """An event as the client's http transport would send it."""
    return Serde.to_json(event).encode()


def _accepted(response: requests.Response) -> bool:
    return 200 <= response.status_code < 300 and not _is_page(response)


def _is_page(response: requests.Response) -> bool:
    """Whether a page for people answers: a sign-in form, a portal. It has taken no event, whatever its status."""
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return bool(response.history) or kind in _PAGES or response.content[:64].lstrip()[:1] == b"<"


def _refusing(response: requests.Response) -> bool:
    """Whether the answer is about the event itself, so that sending it again is no use."""
    return 400 <= response.status_code < 500 and response.status_code not in _AGAIN


def _later(response: requests.Response) -> TryLaterError:
    try:
        after = min(300.0, max(0.0, float(response.headers.get("Retry-After", ""))))
    except ValueError:
        after = None
    page = " with a page, as sign-in forms do" if _is_page(response) else ""
    return TryLaterError(f"{response.url} answers {response.status_code}{page}", after=after, answered=True)


def _failed_events(response: requests.Response) -> list[dict[str, Any]]:
    """What a backend did not take of a batch; the specification writes failed_events, OpenMetadata failedEvents."""
    try:
        answer = response.json()
    except ValueError:
        return []
    failed = (answer.get("failed_events") or answer.get("failedEvents")) if isinstance(answer, dict) else None
    return [entry for entry in failed if isinstance(entry, dict)] if isinstance(failed, list) else []


def _refused(event: bytes, reason: str) -> None:
    try:
        tree = json.loads(event)
        which = f"{tree.get('eventType')} of job {tree.get('job', {}).get('name')!r}"
    except (ValueError, AttributeError):
        which = "an event"
    warn_once(f"lineage: the backend refuses {which}: {reason}")


# --- spool ----------------------------------------------------------------------------------------------------------


@attr.define
class SpoolConfig(Config):
    """The settings of `SpoolTransport`."""

    transport: dict[str, Any]
    folder: str
    max_bytes: int = DEFAULT_MAX_BYTES
    fsync: bool = False
    exit_timeout: float = _EXIT_TIMEOUT

    @classmethod
    def from_dict(cls, params: dict[str, Any]) -> SpoolConfig:
        """Read the settings. Raises RuntimeError if nothing says where the events go in the end."""
        inner = params.get("transport")
        if not isinstance(inner, dict):
            url = params.get("url") or os.environ.get("OPENLINEAGE_URL")
            if not url:
                raise RuntimeError("SpoolTransport needs `transport`: the transport that sends the spooled events")
            own = {field.name for field in attr.fields(cls)} | {"type", "transports"}
            inner = {key: value for key, value in params.items() if key not in own} | {"type": "http", "url": url}
            key = os.environ.get("OPENLINEAGE_API_KEY")
            if key and "auth" not in inner:
                inner["auth"] = {"type": "api_key", "apiKey": key}
        return cls(
            transport=inner,
            folder=str(params.get("folder") or default_folder(inner)),
            max_bytes=int(params.get("max_bytes", DEFAULT_MAX_BYTES)),
            fsync=str(params.get("fsync", False)).lower() in ("true", "1", "yes"),
            exit_timeout=float(params.get("exit_timeout", _EXIT_TIMEOUT)),
        )


def default_folder(inner: dict[str, Any]) -> Path:
    """A folder below the user's state folder, one per target: events of one never go to another."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    target = f"{inner.get('type')} {inner.get('url')} {inner.get('endpoint')} {inner.get('topic')}"
    return Path(state) / "lineagelog" / f"spool-{hashlib.sha256(target.encode()).hexdigest()[:12]}"


class SpoolTransport(Transport):
    """Write events to a spool on disk; a background thread, of this process or a later one, sends them.

    Settings: ``transport`` (the transport that sends them: ``http`` goes in batches, any other gets event by event; or
    the settings of ``http``, as ``url``, beside the others), ``folder`` (one below the user's state folder),
    ``max_bytes`` (256 MiB; more are refused and logged), ``fsync`` (false: survives the process's crash, true: the
    machine's), ``exit_timeout`` (2 s at the end of the process, none while the backend is away).
    """

    kind = "lineagelog_spool"
    config_class = SpoolConfig
    local: ClassVar[bool] = True
    """`emit` only writes to the disk."""

    def __init__(self, config: SpoolConfig) -> None:
        """Open the spool. Raises SpoolError if its folder cannot be made."""
        self._spool = Spool(Path(config.folder).expanduser(), max_bytes=config.max_bytes, fsync=config.fsync)
        self._exit_timeout = config.exit_timeout
        self._inner = _deliverer(dict(config.transport))
        self._lives = Lives(self._spool.folder, self._spool.append)
        self._courier = Courier(_SpoolQueue(self._spool, self._lives), self._inner.deliver, CourierPace())
        _close_at_exit(self)

    def emit(self, event: Event) -> None:  # type: ignore[override]
        """Write an event to the spool. Raises SpoolError (full, disk error)."""
        process.arm()
        record = serialized(event)
        if is_owned():
            self._lives.note(record)
        try:
            self._spool.append(record)
        finally:
            self._courier.notify()  # a spool that is full most of all has to be drained

    def flush(self, timeout: float = -1) -> bool:
        """Wait until the spool is empty; whether it is."""
        return self._courier.flush(timeout)

    def close(self, timeout: float = -1) -> bool:
        """`flush`, and end the thread; what is not sent stays for the next process."""
        return self._courier.close(timeout)

    def leave(self) -> None:
        """At the end of the process."""
        self._courier.leave(self._exit_timeout)


class _SpoolQueue:
    """A spool as the courier wants it."""

    def __init__(self, spool: Spool, lives: Lives) -> None:
        self.append = spool.append
        self._spool, self._lives = spool, lives

    def reader(self) -> SpoolReader:
        self._lives.end_orphans()
        return self._spool.reader()

    def waiting(self) -> bool:
        self._lives.end_orphans()
        return self._spool.stats().waiting_bytes > 0


class _Deliverer(Protocol):
    def deliver(self, events: list[bytes]) -> int: ...


class _EventByEvent:
    """Deliver by any transport of the client."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def deliver(self, events: list[bytes]) -> int:
        for index, event in enumerate(events):
            try:
                rebuilt = event_from_plain(json.loads(event))
            except (KeyError, TypeError, ValueError, AttributeError) as problem:
                _refused(event, describe(problem))
                continue
            try:
                answer: Any = self._transport.emit(rebuilt)
                if isinstance(answer, requests.Response) and not _accepted(answer):
                    raise _later(answer)
                flush = getattr(self._transport, "wait_for_completion", None)
                if flush is not None and flush(10.0) is False:
                    raise TimeoutError(f"{self._transport.kind} does not confirm")
            except TryLaterError:
                if index:
                    return index
                raise
            except Exception as problem:
                if index:
                    return index
                raise TryLaterError(describe(problem)) from problem
        return len(events)


def _deliverer(config: dict[str, Any]) -> _Deliverer:
    if config.get("type") in ("http", BatchTransport.kind, "lineagelog.sdk.transport.BatchTransport"):
        return BatchTransport(BatchConfig.from_dict(config))
    return _EventByEvent(get_default_factory().create(config))


def send(events: list[bytes]) -> None:
    """Send serialized events to the backend that openlineage.yml or OPENLINEAGE_* configure, and wait for it.

    For exporters: unlike a job's lineage, an event that cannot be sent raises. SettingsError without a backend (the
    client's console transport only logs), InputError for what the backend refuses.
    """
    client = OpenLineageClient()
    if client.transport.kind in ("console", "noop"):
        raise SettingsError("no backend is configured: set OPENLINEAGE_URL, or make an openlineage.yml")
    plain_http = type(client.transport) is HttpTransport
    settings: Any = getattr(client.transport, "config", None)
    transport = BatchTransport(_batch_config(settings)) if plain_http else client.transport
    for number, event in enumerate(events, 1):
        try:
            if isinstance(transport, BatchTransport):
                transport.post(event)
            else:
                transport.emit(event_from_plain(json.loads(event)))
        except Exception as problem:
            raise InputError(f"event {number} of {len(events)} was not sent: {describe(problem)}") from problem
    if not transport.close(30.0):
        raise InputError("the backend does not confirm all events")


def _batch_config(config: HttpConfig) -> BatchConfig:
    """The settings of an http transport, for sending bytes as they are."""
    made = BatchConfig(url=config.url)
    for field in attr.fields(HttpConfig):
        setattr(made, field.name, getattr(config, field.name))
    return made


# --- the end of the process -----------------------------------------------------------------------------------------

_open: Final[weakref.WeakSet[BatchTransport | SpoolTransport]] = weakref.WeakSet()


def _close_at_exit(transport: BatchTransport | SpoolTransport) -> None:
    _open.add(transport)


def leave_all() -> None:
    """Wait for what is under way, at the end of the process; each transport once."""
    for transport in list(_open):
        _open.discard(transport)
        transport.leave()
    lives.leave()


process.at_end(leave_all)
