"""The one thread of a worker that touches the database: tasks in order, tried again while the database is away."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Protocol

import structlog

from lineagelog.backoff import pause_after
from lineagelog.errors import ClaimLost, LineageLogError

_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 10.0
_TELL_AGAIN: Final = 60.0

_log = structlog.get_logger(__name__)


class Dropped(LineageLogError):
    """The task was given up at a stop; what it would have stored will be read again."""


class WriterTask(Protocol):
    """Work of the writer's thread, and what the polling thread does with the result."""

    def run(self, writer: Writer) -> Any:
        """Do the work, on the writer's thread; what it returns or raises is handed to `then`."""

    def then(self, result: Any) -> None:
        """On the thread that calls Writer.finish(); ``result`` may be an exception."""


class Writer:
    """Runs tasks one after the other on a thread of its own, so that polling never waits for the database."""

    def __init__(self) -> None:
        self.is_broken = False
        """Whether a batch was fenced: those behind it build on it and must not be stored (read on the thread only)."""
        self.problem: str | None = None
        """Why the task at work is not done yet."""
        self._tasks: deque[WriterTask] = deque()
        self._done: deque[tuple[WriterTask, Any]] = deque()
        self._pending = 0
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="lineagelog-kafka-writer", daemon=True)
        self._thread.start()

    # --- for the polling thread ---------------------------------------------------------------------------------------

    @property
    def pending(self) -> int:
        """Tasks that are not done."""
        return self._pending

    def submit(self, task: WriterTask) -> None:
        """Run a task after those that wait."""
        with self._changed:
            self._tasks.append(task)
            self._pending += 1
            self._changed.notify_all()

    def finish(self) -> None:
        """Let the tasks that are done do what follows."""
        while self._done:
            task, result = self._done.popleft()
            task.then(result)

    def wait(self, most: int, timeout: float) -> bool:
        """Wait until at most ``most`` tasks are not done; whether that came within ``timeout`` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._pending <= most, timeout)

    def stop(self, timeout: float) -> bool:
        """Do what waits, without trying again what fails; whether all was done within ``timeout`` seconds."""
        self._stopping.set()
        with self._changed:
            self._changed.notify_all()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    # --- on the thread ------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._tasks or self._stopping.is_set())
                if not self._tasks:
                    return
                task = self._tasks.popleft()
            try:
                result = task.run(self)
            except Exception as error:
                result = error
            with self._changed:
                self._done.append((task, result))
                self._pending -= 1
                self._changed.notify_all()

    def persist[T](self, action: Callable[[], T], what: str, failed: Callable[[str], None]) -> T:
        """Do something, again and again while the store cannot; ``failed`` is told of each kind of error.

        Raises ClaimLost, errors that are no LineageLogError, and Dropped at a stop.
        """
        failures, told = 0, 0.0
        while True:
            try:
                done = action()
            except ClaimLost:
                raise
            except LineageLogError as error:
                failures += 1
                failed(type(error).__name__)
                if self.problem is None or time.monotonic() - told >= _TELL_AGAIN:
                    _log.warning(f"{what} waits for the database", action="store", error=str(error))
                    told = time.monotonic()
                self.problem = str(error)
                if self._stopping.wait(pause_after(failures, first=_FIRST_PAUSE, longest=_LONGEST_PAUSE)):
                    raise Dropped from error
            else:
                if self.problem is not None:
                    self.problem = None
                    _log.info(f"{what} goes on", action="store")
                return done
