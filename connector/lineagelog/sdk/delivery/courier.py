"""A background thread that takes items from a queue and delivers them, with back-off while the other side is away."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from lineagelog.backoff import pause_after
from lineagelog.errors import SpoolBusy, SpoolError
from lineagelog.sdk.guard import describe, warn_once
from lineagelog.shown import counted

from . import process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

_FIRST_PAUSE: Final = 0.25
_LONGEST_PAUSE: Final = 30.0
_LAST_WAIT: Final = 2.0
"""Seconds that an event waits which comes when the process has ended but for the job's own last functions."""
_ATTEMPTS: Final = 10
"""So often an item may be answered with an error before the items behind it are tried; it comes again after them."""


class TryLaterError(Exception):
    """Nothing was delivered; the same again later."""

    def __init__(self, reason: str, *, after: float | None = None, answered: bool = False) -> None:
        super().__init__(reason)
        self.after = after
        """Seconds that the other side asks to wait."""
        self.answered = answered
        """Whether the other side answered at all."""


class QueueReader[T](Protocol):
    """The draining side of a queue, as `lineagelog.spool.SpoolReader` has it."""

    def peek(self, max_records: int = 100, max_bytes: int = 0) -> list[T]:
        """The oldest items."""

    def ack(self, count: int) -> None:
        """The first ``count`` of these are delivered."""


class Queue[T](Protocol):
    """A queue, as `lineagelog.spool.Spool` is one."""

    def append(self, record: T) -> None:
        """Keep an item."""

    def reader(self) -> AbstractContextManager[QueueReader[T]]:
        """Drain it; SpoolBusy if another does."""

    def waiting(self) -> bool:
        """Whether something is not yet delivered."""


class MemoryQueue[T]:
    """A bounded queue in memory; a forked child starts with an empty one (the parent delivers what it had)."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._process = os.getpid()
        self._items: deque[T] = deque()

    def append(self, record: T) -> None:
        """Keep an item. Raises SpoolError when the queue is full."""
        if self.is_full():
            raise SpoolError(f"{counted(self._limit, 'events')} waiting in memory already")
        self._items.append(record)

    @contextlib.contextmanager
    def reader(self) -> Iterator[MemoryQueue[T]]:
        """Drain it; the queue itself reads."""
        self._own()
        yield self

    def peek(self, max_records: int = 100, max_bytes: int = 0) -> list[T]:  # noqa: ARG002 - counted in items
        """The oldest items."""
        return [item for item, _ in zip(list(self._items), range(max_records), strict=False)]

    def ack(self, count: int) -> None:
        """The first ``count`` are delivered."""
        for _ in range(count):
            self._items.popleft()

    def waiting(self) -> bool:
        """Whether something is not yet delivered."""
        return self.size() > 0

    def size(self) -> int:
        """How many items are not yet delivered."""
        self._own()
        return len(self._items)

    def is_full(self) -> bool:
        """Whether another item would be refused."""
        return self.size() >= self._limit

    def _own(self) -> None:
        if self._process != os.getpid():
            self._process, self._items = os.getpid(), deque()


@dataclass(frozen=True)
class CourierPace:
    """How much a courier takes at once, and how long it waits."""

    batch: int = 100
    """Items for one delivery."""
    batch_bytes: int = 4 * 1024 * 1024
    linger: float = 0.0
    """Seconds to wait for more items before a delivery that is not full."""
    poll: float = 5.0
    """Seconds after which an idle courier looks what other processes have left."""
    patience: float = 0.0
    """Seconds without a delivery after which the end of the process gives up what is in memory; 0: it is on disk."""
    answer: float = 0.0
    """Seconds that one delivery may take before it is known to have failed: so long `patience` lasts at least."""


class Courier[T]:
    """Deliver what is in a queue, in order, in a daemon thread that starts with the first `notify`."""

    def __init__(self, queue: Queue[T], deliver: Callable[[list[T]], int], pace: CourierPace) -> None:
        """``deliver`` gets up to ``pace.batch`` items and says how many of the first of them are done with.

        It raises TryLaterError if none is.
        """
        self._queue, self._deliver, self._pace = queue, deliver, pace
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._appended = 0
        self._pending = False  # something was appended since the queue was last seen empty
        self._hurry = False  # someone waits: cut the present pause short
        self._closed = False
        self._failures = 0
        self._head_failures = 0
        self._moved = time.monotonic()
        self.missed = 0
        """Items done with that were not delivered: `deliver` counts them here."""

    @property
    def failing(self) -> bool:
        """Whether the last attempt did not succeed."""
        return self._failures > 0

    def notify(self) -> None:
        """Something was appended. Returns at once."""
        if self._process != os.getpid():
            self._begin()
        with self._changed:
            self._appended += 1
            self._start()
        if process.is_over():
            self.leave(_LAST_WAIT)

    def _start(self) -> bool:
        """See to it that a thread works; within the condition. Whether one does."""
        if not self._pending:
            self._moved = time.monotonic()
        self._pending, self._closed = True, False
        if self._thread is None or not self._thread.is_alive():
            thread = threading.Thread(target=self._run, name="lineagelog-courier", daemon=True)
            try:
                thread.start()
            except RuntimeError as problem:  # the interpreter is at its end; too many threads: the next one tries again
                warn_once(f"lineage: events are sent at the end of the process: {describe(problem)}")
                return False
            self._thread = thread
        self._changed.notify_all()
        return True

    def flush(self, timeout: float, patience: float | None = None) -> bool:
        """Wait until everything is delivered, at most ``timeout`` seconds (without limit if negative).

        ``patience``: only so long while attempts fail. The present pause after a failure is cut short. Returns whether
        everything was delivered.
        """
        began = time.monotonic()

        def rest() -> float | None:
            limit = timeout if patience is None or not self.failing else min(timeout, patience)
            return None if limit < 0 else began + limit - time.monotonic()

        return self._wait(rest, lambda: not self._pending)

    def settle(self, patience: float, enough: Callable[[], bool] | None = None) -> bool:
        """Wait as long as deliveries go on: until ``patience`` seconds have passed without one.

        Where they have passed already, it does not wait. ``enough``: it need not be everything. Returns whether it is.
        """
        done = enough or (lambda: not self._pending)

        def rest() -> float:
            limit = patience if self.failing else max(patience, self._pace.answer)
            return self._moved + limit - time.monotonic()

        return self._wait(rest, done)

    def moved(self) -> None:
        """A part of a delivery is done with."""
        with self._changed:
            self._moved = time.monotonic()
            self._changed.notify_all()

    def _wait(self, rest: Callable[[], float | None], done: Callable[[], bool]) -> bool:
        if self._process != os.getpid():
            self._begin()
        if self._thread is None or not self._thread.is_alive():
            if not self._queue.waiting():
                return True
            with self._changed:
                works = self._start()
            if not works:
                self._work()
                return not self._queue.waiting()
        with self._changed:
            self._hurry = True
            self._changed.notify_all()
            while not done() and self._thread is not None and self._thread.is_alive():
                seconds = rest()
                if seconds is not None and seconds <= 0:
                    break
                self._changed.wait(seconds)
            return done()

    def close(self, timeout: float, patience: float | None = None) -> bool:
        """`flush`, then end the thread when its current delivery is over."""
        done = self.flush(timeout, patience)
        self._end()
        return done

    def _end(self) -> None:
        if self._process == os.getpid():
            with self._changed:
                self._closed = True
                self._changed.notify_all()

    def leave(self, timeout: float) -> bool:
        """At the end of the process: wait for what is under way. Whether all is delivered.

        What is in memory would be lost: for it, as long as deliveries go on. What is on disk comes again: for it, at
        most ``timeout`` seconds, and not while the other side is away.
        """
        if not self._pace.patience:
            return self.close(timeout, 0.0)
        done = self.settle(self._pace.patience)
        self._end()
        return done

    # --- in the thread ----------------------------------------------------------------------------------------------

    def _run(self) -> None:
        pause: float | None = None
        while True:
            with self._changed:
                if pause is not None:
                    self._changed.wait_for(lambda: self._hurry or self._closed, pause)
                elif self._changed.wait_for(lambda: self._pending or self._closed, self._pace.poll):
                    self._changed.wait_for(lambda: self._hurry or self._closed, self._pace.linger)
                self._hurry = False
                if self._closed:
                    self._thread = None
                    return
            pause = self._work()
            with self._changed:
                self._changed.notify_all()

    def _work(self) -> float | None:
        """Drain the queue: None when it is empty, else the seconds to wait before the next attempt."""
        try:
            with self._queue.reader() as reader:
                self._drain(reader)
        except SpoolBusy:
            return _FIRST_PAUSE  # another process is delivering, this one's events too
        except TryLaterError as problem:
            warn_once(f"lineage: events are kept and sent later: {problem}")
            self._count_failure(answered=problem.answered)
            return problem.after if problem.after is not None else self._pause()
        except Exception as problem:
            warn_once(f"lineage: sending events failed: {describe(problem)}")
            self._count_failure(answered=False)
            return self._pause()
        return None

    def _drain(self, reader: QueueReader[T]) -> None:
        while not self._closed:
            appended = self._appended
            items = reader.peek(self._pace.batch, self._pace.batch_bytes)
            if items:
                self._deliver_first(reader, items)
                continue
            with self._changed:
                if self._appended == appended:
                    self._pending = False
                    return

    def _deliver_first(self, reader: QueueReader[T], items: list[T]) -> None:
        missed = self.missed
        reader.ack(self._deliver(items))
        self._failures = self._head_failures = 0
        if self.missed == missed:
            self.moved()

    def _count_failure(self, *, answered: bool) -> None:
        self._failures += 1
        self._head_failures += answered
        if self._head_failures >= _ATTEMPTS:
            self._head_failures = 0
            with contextlib.suppress(SpoolError), self._queue.reader() as reader:
                for item in reader.peek(1):
                    self._queue.append(item)
                    reader.ack(1)

    def _pause(self) -> float:
        return pause_after(self._failures, first=_FIRST_PAUSE, longest=_LONGEST_PAUSE)
