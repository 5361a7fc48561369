"""The pumps: two Python threads that take from Java's queues, so that Java never calls Python (JPype leaks there).

The protocols are the Java classes of `jars/core` as Python sees them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import structlog

from .connector import CallError, Connectors, shown
from .keeper import Failures, Keeper

MAX_EVENTS: Final = 500
MAX_BYTES: Final = 32 * 1024 * 1024
_TAKE_MILLIS: Final = 500
_LOOK_SECONDS: Final = 0.25
_CLOSED_SECONDS: Final = 0.05
"""A queue that is closed answers at once that it has nothing."""
_FAILED_SECONDS: Final = 0.5
_READ_ATTEMPTS: Final = 3
_NOT_STARTED: Final = "the connector is not started"

_log = structlog.get_logger(__name__)


def insist(action: Callable[[], object], until: Callable[[], bool] = lambda: False) -> None:
    """Do it until it is done: while the platform has no memory left, each call into Java may fail for a while.

    Whoever brings an event waits without end for its answer; so does Egeria's whole dispatch.
    """
    while True:
        try:
            action()
        except Exception as error:
            _log.error("Java cannot be told", action="bridge", error=type(error).__name__)
            if until():
                return
            time.sleep(_FAILED_SECONDS)
        else:
            return


class JavaBatch(Protocol):
    """``io.github.lineagelog.egeria.Batch``; arrays are Java's, with Python's sequence and buffer protocols."""

    def size(self) -> int: ...  # noqa: D102
    def bodies(self) -> Any: ...  # noqa: D102
    def ends(self) -> Any: ...  # noqa: D102
    def connectors(self) -> Sequence[Any]: ...  # noqa: D102
    def connectorOf(self) -> Any: ...  # noqa: D102, N802
    def complete(self) -> None: ...  # noqa: D102
    def finish(self, failed: Sequence[int], texts: Sequence[str]) -> None: ...  # noqa: D102
    def fail(self, text: str) -> None: ...  # noqa: D102


class EventQueue(Protocol):
    """``io.github.lineagelog.egeria.EventQueue``."""

    def take(self, max_events: int, max_bytes: int, wait_millis: int) -> JavaBatch | None: ...  # noqa: D102
    def recover(self) -> None: ...  # noqa: D102
    def waiting(self) -> int: ...  # noqa: D102


class Call(Protocol):
    """``io.github.lineagelog.egeria.Call``."""

    def connector(self) -> Any: ...  # noqa: D102
    def operation(self) -> Any: ...  # noqa: D102
    def argument(self) -> Any: ...  # noqa: D102
    def answer(self, json: str) -> None: ...  # noqa: D102
    def fail(self, text: str) -> None: ...  # noqa: D102


class CallQueue(Protocol):
    """``io.github.lineagelog.egeria.CallQueue``."""

    def take(self, wait_millis: int) -> Call | None: ...  # noqa: D102
    def recover(self) -> None: ...  # noqa: D102


class _PumpJob:
    """A batch in the pump's hands."""

    def __init__(self, batch: JavaBatch) -> None:
        self.batch = batch
        self.shares = _shares(batch)
        self.failures: Failures = {}
        self.done = 0
        """Shares that are safe."""
        self.began = time.monotonic()
        """When the present share was begun."""
        self.keeper: Keeper | None = None
        """Who has the present share; its connector may be disconnected meanwhile."""
        self.overtaken = False


class EventPump:
    """Takes batch after batch to the connectors' keepers.

    A batch whose store does not return in time is overtaken: its events are spooled and another thread goes on.
    """

    def __init__(self, queue: EventQueue, connectors: Connectors) -> None:
        self._queue, self._connectors = queue, connectors
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._job: _PumpJob | None = None
        self._thread = self._new_thread()
        self._watch = threading.Thread(target=self._look, name="lineagelog-watch", daemon=True)

    def start(self) -> None:
        """Begin to take events from Java, and to watch whoever does."""
        self._thread.start()
        self._watch.start()

    def stop(self, timeout: float) -> bool:
        """Take no more; whether the batch in hand was finished within ``timeout`` seconds."""
        self._stopping.set()
        end = time.monotonic() + timeout
        while self._thread.is_alive() and (rest := end - time.monotonic()) > 0:
            self._thread.join(min(rest, _LOOK_SECONDS))  # it may be another one by then
        finished = not self._thread.is_alive()
        self._watch.join(2 * _LOOK_SECONDS)
        return finished

    def _new_thread(self) -> threading.Thread:
        return threading.Thread(target=self._run, name="lineagelog-pump", daemon=True)

    def _run(self) -> None:
        take, most = self._queue.take, MAX_EVENTS
        while not self._stopping.is_set():
            begin = time.monotonic()
            try:
                batch = take(most, MAX_BYTES, _TAKE_MILLIS)
                if batch is not None and not self._work(batch):
                    return
            except Exception as error:  # Java has no memory left, or is going; what it could not hand over waits there
                _log.error("the event queue fails", action="bridge", error=type(error).__name__)
                self._stopping.wait(_FAILED_SECONDS)
                insist(self._queue.recover, until=self._stopping.is_set)
                most = 1  # as little as can be
                continue
            most = MAX_EVENTS
            if batch is None and time.monotonic() - begin < _CLOSED_SECONDS:
                self._stopping.wait(_CLOSED_SECONDS)

    def _work(self, batch: JavaBatch) -> bool:
        """Whether this thread is still the pump."""
        text = ""
        self._job = job = self._read(batch)
        if job is None:
            return True
        try:
            for share in job.shares:
                job.began = time.monotonic()
                job.keeper = self._connectors.keeper(share.connector)
                failures = self._take(share, job.keeper)
                with self._lock:
                    if job.overtaken:
                        return False
                    job.failures |= failures
                    job.done += 1
        except Exception as error:  # a defect of ours: the senders are told, the pump goes on
            text = shown(error)
            _log.error("a batch failed", action="append", error=text)
        with self._lock:
            if self._job is not job:
                return False
            self._job = None
        insist(lambda: batch.fail(text) if text else _answer(batch, job.failures))
        return True

    def _read(self, batch: JavaBatch) -> _PumpJob | None:
        """The batch as Python has it; None if there is no memory for it on either side, and its senders are told."""
        for attempt in range(_READ_ATTEMPTS):
            if attempt:
                self._stopping.wait(_FAILED_SECONDS)
            try:
                return _PumpJob(batch)
            except Exception as error:
                kind = type(error).__name__
                _log.error("a batch cannot be read", action="bridge", error=kind)
        insist(lambda: batch.fail(f"the event is not kept: {kind}"))
        return None

    def _take(self, share: _Share, keeper: Keeper | None) -> Failures:
        if keeper is None:
            return dict.fromkeys(share.indexes, _NOT_STARTED)
        failures = keeper.take(share.bodies)
        return self._told(share, failures) if failures else failures

    def _told(self, share: _Share, failures: Failures) -> Failures:
        hide = self._connectors.hide
        return {share.indexes[place]: hide(share.connector, text) for place, text in failures.items()}

    # --- the watch --------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """See to it that no store that hangs holds up the daemon."""
        while self._thread.is_alive() or not self._stopping.is_set():
            time.sleep(_LOOK_SECONDS)
            job = self._job
            if job is None or job.done >= len(job.shares):
                continue
            keeper = job.keeper
            if keeper is not None and time.monotonic() - job.began > keeper.patience:
                self._overtake(job)

    def _overtake(self, job: _PumpJob) -> None:
        """Spool what is not done of the job, and let another thread go on."""
        with self._lock:
            if self._job is not job:
                return
            job.overtaken = True
            self._job = None
        hanging, *others = job.shares[job.done :]
        _log.warning("a store does not answer: its events are spooled", action="spool", events=len(hanging.bodies))
        text, failures = "", job.failures
        try:
            failures = job.failures | self._kept(hanging, job.keeper, hangs=True)
            for share in others:
                failures |= self._kept(share, None, hangs=False)
        except Exception as error:  # a defect of ours must not end the watch
            text = shown(error)
            _log.error("a batch failed", action="spool", error=text)
        insist(lambda: job.batch.fail(text) if text else _answer(job.batch, failures))
        self._thread = self._new_thread()
        self._thread.start()

    def _kept(self, share: _Share, present: Keeper | None, *, hangs: bool) -> Failures:
        keeper = self._connectors.keeper(share.connector) or present
        if keeper is None:
            return dict.fromkeys(share.indexes, _NOT_STARTED)
        return self._told(share, keeper.overtake(share.bodies) if hangs else keeper.keep(share.bodies))


class CallPump:
    """Answers the life cycle calls, one after the other."""

    def __init__(self, queue: CallQueue, connectors: Connectors) -> None:
        self._queue, self._connectors = queue, connectors
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lineagelog-calls", daemon=True)

    def start(self) -> None:
        """Begin to answer life cycle calls."""
        self._thread.start()

    def stop(self, timeout: float) -> bool:
        """Answer no more; whether the call in hand was answered within ``timeout`` seconds."""
        self._stopping.set()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopping.is_set():
            begin = time.monotonic()
            try:
                call = self._queue.take(_TAKE_MILLIS)
                if call is not None:
                    self._answer(call)
            except Exception as error:
                _log.error("the call queue fails", action="bridge", error=type(error).__name__)
                self._stopping.wait(_FAILED_SECONDS)
                insist(self._queue.recover, until=self._stopping.is_set)
                continue
            if call is None and time.monotonic() - begin < _CLOSED_SECONDS:
                self._stopping.wait(_CLOSED_SECONDS)

    def _answer(self, call: Call) -> None:
        try:
            answer = self._connectors.call(str(call.connector()), str(call.operation()), str(call.argument()))
        except CallError as error:
            text = str(error)
            insist(lambda: call.fail(text), until=self._stopping.is_set)
        else:
            insist(lambda: call.answer(answer), until=self._stopping.is_set)


class _Share:
    """The events of one connector in a batch."""

    def __init__(self, connector: str) -> None:
        self.connector = connector
        self.indexes: list[int] = []
        self.bodies: list[bytes] = []


def _shares(batch: JavaBatch) -> list[_Share]:
    """The batch by connectors; one event, the usual case, costs as few calls into Java as can be."""
    size = batch.size()  # tells Java that it arrived
    shares = [_Share(str(name)) for name in batch.connectors()]
    bodies = bytes(batch.bodies())
    if size == 1:
        shares[0].indexes, shares[0].bodies = [0], [bodies]
        return shares
    start = 0
    for index, (end, number) in enumerate(zip(list(batch.ends()), list(batch.connectorOf()), strict=True)):
        shares[number].indexes.append(index)
        shares[number].bodies.append(bodies[start:end])
        start = end
    return shares


def _answer(batch: JavaBatch, failures: Failures) -> None:
    if failures:
        batch.finish(list(failures), list(failures.values()))
    else:
        batch.complete()
