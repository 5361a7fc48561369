"""Group commit: events that many senders hand in at the same time share a transaction."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

import structlog
from msgspec import Struct

from lineagelog.errors import IntakeFull, LineageLogError, PartitionMissing, StoreError
from lineagelog.event.model import Event
from lineagelog.shown import counted

from .door import Append, Item, Outcome, outcomes

MAX_BATCH: Final = 500
MAX_WAITING: Final = 20_000
MAX_WAITING_BYTES: Final = 512 * 1024 * 1024
HEAVY_BYTES: Final = 4 * 1024 * 1024
HEAVY_ROWS: Final = 2_000
"""A submission of so many bytes or rows (some half a second of writing) goes its own way."""
CROWD: Final = 16
"""Events that must wait before a second writer joins in. A transaction costs the database and Python about the same
for 5 events as for 15, so fewer and larger ones save CPU (server and PostgreSQL together 557 µs per event against 588
for two writers at will, 32 senders); the rate is the same within the noise."""

_log = structlog.get_logger(__name__)

type Done = Callable[[list[tuple[Submission, list[Outcome] | LineageLogError]]], None]
"""Called once per transaction, on a writer's thread, with what became of every submission in it."""


class QueueLimits(Struct, frozen=True):
    """How much may wait for the writers, and how much one of them takes."""

    batch: int = MAX_BATCH
    """Events of one transaction, unless one submission brings more."""
    waiting: int = MAX_WAITING
    """Events."""
    waiting_bytes: int = MAX_WAITING_BYTES


class Submission(Struct, eq=False):
    """What one sender hands in: all of it is stored in one transaction, or none."""

    items: Sequence[Item]
    ticket: object
    """The sender's own, to find its way back."""
    size: int
    """Bytes."""


class GroupCommit:
    """Writer threads over a bounded queue.

    Nobody waits for a clock: a writer takes all that waits (up to ``max_batch`` events) when the one before it is done,
    so batches grow with the load by themselves; others join in when a crowd waits. ``submit`` raises IntakeFull when
    more waits than the queue may hold.
    """

    def __init__(
        self,
        append: Append,
        done: Done,
        *,
        source: str,
        writers: int = 2,
        limits: QueueLimits = QueueLimits(),  # noqa: B008  # frozen
    ) -> None:
        self._append, self._done, self._source, self._limits = append, done, source, limits
        self._queue: deque[Submission] = deque()
        self._events = 0
        self._bytes = 0
        self._busy = 0
        self._changed = threading.Condition()
        self._stopping = False
        self._threads = [
            threading.Thread(target=self._write, name=f"lineagelog-writer-{number}", daemon=True)
            for number in range(writers)
        ]

    def start(self) -> None:
        """Start the writers."""
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Take no more; the writers go on with what waits."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def stop(self, timeout: float | None = None) -> bool:
        """Take no more; write what waits; return whether all was written within ``timeout`` seconds."""
        self.close()
        end = None if timeout is None else time.monotonic() + timeout
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(None if end is None else max(0.0, end - time.monotonic()))
        return not self._queue and not any(thread.is_alive() for thread in self._threads)

    @property
    def waiting(self) -> int:
        """Events that no writer has taken yet."""
        return self._events

    def submit(self, submission: Submission) -> None:
        """Hand in; ``done`` will be called with it. Raises IntakeFull."""
        with self._changed:
            if self._stopping:
                raise IntakeFull("the server is stopping", retry_after=5)
            full = self._events + len(submission.items) > self._limits.waiting and self._events > 0
            if full or (self._bytes + submission.size > self._limits.waiting_bytes and self._bytes > 0):
                raise IntakeFull(f"{counted(self._events, 'events')} waiting to be stored", retry_after=1)
            self._queue.append(submission)
            self._events += len(submission.items)
            self._bytes += submission.size
            self._changed.notify()

    def _take(self) -> list[Submission]:
        """All that waits, up to a batch; waits for the first. Empty when it is time to end."""
        with self._changed:
            while not self._queue or (self._busy and self._events < CROWD and not self._stopping):
                if self._stopping:
                    return []
                self._changed.wait()
            self._busy += 1
            taken: list[Submission] = []
            events = 0
            while self._queue and (not taken or events + len(self._queue[0].items) <= self._limits.batch):
                submission = self._queue.popleft()
                taken.append(submission)
                events += len(submission.items)
                self._bytes -= submission.size
            self._events -= events
            if self._events >= CROWD:
                self._changed.notify()
            return taken

    def _write(self) -> None:
        while batch := self._take():
            found = self._store(batch)
            if isinstance(found, PartitionMissing) and len(batch) > 1:  # one sender's trouble is not the others'
                shares = [share for submission in batch for share in _shares([submission], self._store([submission]))]
            else:
                shares = _shares(batch, found)
            with self._changed:
                self._busy -= 1
            self._done(shares)

    def _store(self, batch: Sequence[Submission]) -> list[Outcome] | LineageLogError:
        items = [item for submission in batch for item in submission.items]
        try:
            return outcomes(items, self._append(items, source=self._source))
        except LineageLogError as error:
            return error
        except Exception as error:  # a defect must not end the writer: the senders are told and may try again
            _log.error("append failed", action="append", events=len(items), error=place_of(error))
            return StoreError(f"internal error: {type(error).__name__}")


class Lanes:
    """Two group commits: heavy submissions have a writer of their own, and others do not wait behind them."""

    def __init__(self, light: GroupCommit, heavy: GroupCommit) -> None:
        self._light, self._heavy = light, heavy

    def start(self) -> None:
        """Start the writers."""
        self._light.start()
        self._heavy.start()

    def stop(self, timeout: float) -> bool:
        """Take no more; write what waits; return whether all was written within ``timeout`` seconds."""
        end = time.monotonic() + timeout
        self._light.close()
        heavy = self._heavy.stop(timeout)
        return self._light.stop(max(0.0, end - time.monotonic())) and heavy

    @property
    def waiting(self) -> int:
        """Events that no writer has taken yet."""
        return self._light.waiting + self._heavy.waiting

    def submit(self, submission: Submission) -> None:
        """Hand in, by weight. Raises IntakeFull."""
        (self._heavy if submission.size >= HEAVY_BYTES or _rows(submission) >= HEAVY_ROWS else self._light).submit(
            submission
        )


def _rows(submission: Submission) -> int:
    """Rows that a submission writes, more or less."""
    rows = len(submission.items)
    for item in submission.items:
        if isinstance(item, Event):
            rows += len(item.datasets) + len(item.assertions) + len(item.tests)
    return rows


def place_of(error: BaseException) -> str:
    """Kind and place of an error, without its text and without values: those may quote an event."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else "?"
    return f"{type(error).__name__} in {place}"


def _shares(
    batch: Sequence[Submission], found: list[Outcome] | LineageLogError
) -> list[tuple[Submission, list[Outcome] | LineageLogError]]:
    if isinstance(found, LineageLogError):
        return [(submission, found) for submission in batch]
    shares: list[tuple[Submission, list[Outcome] | LineageLogError]] = []
    start = 0
    for submission in batch:
        end = start + len(submission.items)
        shares.append((submission, found[start:end]))
        start = end
    return shares
