"""A background thread that takes items from a queue and delivers them, with back-off while the other side is away."""

from __future__ import annotations

import contextlib
import os
import random
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from lineagelog.errors import SpoolBusy, SpoolError

from .guard import describe, warn_once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

_FIRST_PAUSE: Final = 0.25
_LONGEST_PAUSE: Final = 30.0
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


class Reader[T](Protocol):
    """The draining side of a queue, as `lineagelog.spool.SpoolReader` has it."""

    def peek(self, max_records: int = 100, max_bytes: int = 0) -> list[T]:
        """The oldest items."""

    def ack(self, count: int) -> None:
        """The first ``count`` of these are delivered."""


class Queue[T](Protocol):
    """A queue, as `lineagelog.spool.Spool` is one."""

    def append(self, record: T) -> None:
        """Keep an item."""

    def reader(self) -> AbstractContextManager[Reader[T]]:
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
        self._own()
        if len(self._items) >= self._limit:
            raise SpoolError(f"{self._limit} events are waiting in memory already")
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
        self._own()
        return bool(self._items)

    def _own(self) -> None:
        if self._process != os.getpid():
            self._process, self._items = os.getpid(), deque()


@dataclass(frozen=True)
class Pace:
    """How a courier works."""

    batch: int = 100
    """Items for one delivery."""
    batch_bytes: int = 4 * 1024 * 1024
    linger: float = 0.0
    """Seconds to wait for more items before a delivery that is not full."""
    poll: float = 5.0
    """Seconds after which an idle courier looks what other processes have left."""
    patience: float = 0.0
    """Seconds that `close` at the end of the process waits even while the other side is away."""


class Courier[T]:
    """Deliver what is in a queue, in order, in a daemon thread that starts with the first `notify`."""

    def __init__(self, queue: Queue[T], deliver: Callable[[list[T]], int], pace: Pace) -> None:
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
            self._pending, self._closed = True, False
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="lineagelog-courier", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def flush(self, timeout: float, patience: float | None = None) -> bool:
        """Wait until everything is delivered, at most ``timeout`` seconds (without limit if negative).

        ``patience``: only so long while attempts fail. The present pause after a failure is cut short. Returns whether
        everything was delivered.
        """
        if self._process != os.getpid() or self._thread is None:
            return not self._queue.waiting()
        began = time.monotonic()
        with self._changed:
            self._hurry = True
            self._changed.notify_all()
            while self._pending and self._thread is not None and self._thread.is_alive():
                limit = timeout if patience is None or not self.failing else min(timeout, patience)
                rest = None if limit < 0 else began + limit - time.monotonic()
                if rest is not None and rest <= 0:
                    break
                self._changed.wait(rest)
            return not self._pending

    def close(self, timeout: float, patience: float | None = None) -> bool:
        """`flush`, then end the thread when its current delivery is over."""
        done = self.flush(timeout, patience)
        if self._process == os.getpid():
            with self._changed:
                self._closed = True
                self._changed.notify_all()
        return done

    def leave(self, timeout: float) -> None:
        """At the end of the process: wait for what is under way, but for a side that is away only ``pace.patience``."""
        self.close(timeout, self._pace.patience)

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

    def _drain(self, reader: Reader[T]) -> None:
        while not self._closed:
            appended = self._appended
            items = reader.peek(self._pace.batch, self._pace.batch_bytes)
            if items:
                reader.ack(self._deliver(items))
                self._failures = self._head_failures = 0
                continue
            with self._changed:
                if self._appended == appended:
                    self._pending = False
                    return

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
        longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(self._failures - 1, 10))
        return float(longest * random.uniform(0.7, 1.0))  # noqa: S311 - not for secrets
