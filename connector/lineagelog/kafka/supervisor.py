"""Several workers as processes: starts them, again if they crash, passes signals on, adds up their metrics."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Final

import structlog

from lineagelog.backoff import pause_after

from .metrics import WorkerMetrics

_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 30.0
_HEALTHY: Final = 60.0
"""A worker that ran so many seconds is started again without delay."""
_STOP_SECONDS: Final = 9.0
_REPORT_EVERY: Final = 0.5
_LOOK_EVERY: Final = 0.2

_log = structlog.get_logger(__name__)

type Main = Callable[[int, "Link"], None]
"""A worker's process: picklable, called with its number and its link to the supervisor."""


class Link:
    """A worker's end: tells its metrics now and then, and learns that it is to stop, even by the supervisor's death."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._next = 0.0

    def open(self) -> threading.Event:
        """The event that says stop: set by SIGTERM, and when the supervisor is no more. Ctrl-C is the supervisor's."""
        stop = threading.Event()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: stop.set())

        def watch() -> None:
            with contextlib.suppress(EOFError, OSError):
                self._connection.recv()
            stop.set()

        threading.Thread(target=watch, name="lineagelog-kafka-link", daemon=True).start()
        return stop

    def report(self, metrics: WorkerMetrics) -> None:
        """The same, not too often."""
        if (now := time.monotonic()) >= self._next:
            self._next = now + _REPORT_EVERY
            self.tell(metrics)

    def tell(self, metrics: WorkerMetrics) -> None:
        """Send the metrics to the supervisor, unless that is gone."""
        with contextlib.suppress(OSError):
            self._connection.send(metrics)


@dataclass(slots=True)
class _Child:
    number: int
    process: BaseProcess | None = None
    connection: Connection | None = None
    begun: float = 0.0
    due: float = 0.0
    failures: int = 0
    last: WorkerMetrics = field(default_factory=WorkerMetrics)
    is_finished: bool = False


class Supervisor:
    """Runs ``count`` workers until they finish or a stop is asked for.

    A worker that ends with an error or by a signal is started again, after a second if it had run for a minute, else
    after twice the delay of the last time. What it had counted since it reported last, half a second at most, is not
    in the metrics.
    """

    def __init__(self, main: Main, count: int) -> None:
        self._main = main
        self._context = multiprocessing.get_context("spawn")
        self._children = [_Child(number) for number in range(count)]
        self._ended = WorkerMetrics()
        self.restarts = 0
        self._lock = threading.Lock()

    @property
    def running(self) -> int:
        """Workers whose process lives."""
        return sum(1 for child in self._children if child.process is not None and child.process.is_alive())

    def metrics(self) -> WorkerMetrics:
        """Of all workers since the start. For any thread."""
        with self._lock:
            return WorkerMetrics.sum([self._ended, *(child.last for child in self._children)])

    def run(self, stop: threading.Event) -> None:
        """Supervise until all have finished or ``stop`` is set; a stop takes nine seconds at most."""
        try:
            while not stop.is_set() and not all(child.is_finished for child in self._children):
                for child in self._children:
                    if child.process is None and not child.is_finished and time.monotonic() >= child.due:
                        self._start(child)
                self._listen(_LOOK_EVERY)
                self._bury()
        finally:
            self._stop()

    def _start(self, child: _Child) -> None:
        ours, theirs = self._context.Pipe()
        child.process = self._context.Process(
            target=_run, args=(self._main, child.number, theirs), name=f"lineagelog-consume-{child.number}", daemon=True
        )
        child.process.start()
        theirs.close()
        child.connection, child.begun = ours, time.monotonic()
        _log.info("worker started", action="supervise", worker=child.number, pid=child.process.pid)

    def _listen(self, seconds: float) -> None:
        """Take in what workers tell, for so long at most."""
        talking = {child.connection: child for child in self._children if child.connection is not None}
        if not talking:
            time.sleep(seconds)
            return
        ready = wait(list(talking), seconds)
        for connection, child in talking.items():
            if connection not in ready:
                continue
            try:
                metrics = connection.recv()
            except (EOFError, OSError):
                child.connection = None  # closed: the process ends
            else:
                with self._lock:
                    child.last = metrics

    def _bury(self) -> None:
        for child in self._children:
            process = child.process
            if process is None or process.is_alive():
                continue
            self._drain(child)
            process.join()
            with self._lock:
                self._ended.add(child.last.ended())
                child.last = WorkerMetrics()
            child.process = None
            if process.exitcode == 0:
                child.is_finished = True
                continue
            if time.monotonic() - child.begun >= _HEALTHY:
                child.failures = 0
            child.failures += 1
            child.due = time.monotonic() + pause_after(child.failures, first=_FIRST_PAUSE, longest=_LONGEST_PAUSE)
            self.restarts += 1
            about = {
                "worker": child.number,
                "exit_code": process.exitcode,
                "again_in": round(child.due - time.monotonic()),
            }
            _log.error("worker has ended", action="supervise", **about)

    def _drain(self, child: _Child) -> None:
        """What the worker told last."""
        with contextlib.suppress(EOFError, OSError):
            while child.connection is not None and child.connection.poll():
                child.last = child.connection.recv()
        child.connection = None

    def _stop(self) -> None:
        for process in self._living():
            process.terminate()
        deadline = time.monotonic() + _STOP_SECONDS
        while self._living() and time.monotonic() < deadline:
            self._listen(0.05)
        for process in self._living():
            _log.error("worker killed: it did not stop", action="supervise", pid=process.pid)
            process.kill()
        for child in self._children:
            if child.process is not None:
                child.process.join()
                self._drain(child)

    def _living(self) -> list[BaseProcess]:
        return [child.process for child in self._children if child.process is not None and child.process.is_alive()]


def _run(main: Main, number: int, connection: Any) -> None:
    """The start of a worker's process."""
    main(number, Link(connection))
