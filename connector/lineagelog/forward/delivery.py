"""Brings the events of one page to the target: in lanes, with retries, until each is delivered or parked."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import batched, groupby
from typing import Final
from zlib import crc32

from msgspec import Struct

from lineagelog.errors import TargetUnavailable
from lineagelog.store.ledgers.forwarding import Letter

from .pace import Pace, StoppedError
from .sending import Item, Sender, TargetAnswer, TargetVerdict
from .target import ForwardTarget

_BESIDE: Final = 1
"""Bytes of a comma."""
_AROUND: Final = 16
"""Bytes of the brackets of a batch, in whatever form."""
_WAITING: Final = frozenset((TargetVerdict.AGAIN, TargetVerdict.FAILED, TargetVerdict.HELD))


class Delivered(Struct, frozen=True):
    """What became of a page: all its events but the parked ones are delivered."""

    delivered: int
    letters: tuple[Letter, ...]
    retries: int


type OnProblem = Callable[[str], None]


class TargetDelivery:
    """Delivers pages to one target.

    Events of one run go one after the other, in the order they are given; different runs may overtake each other where
    several requests are in flight. ``patient`` = wait for the target as long as it takes; else TargetUnavailable is
    raised when nothing was delivered for ``give_up`` seconds, or as soon as the target refuses us.
    """

    def __init__(
        self, sender: Sender, target: ForwardTarget, pace: Pace, *, patient: bool, on_problem: OnProblem
    ) -> None:
        self._sender, self._target, self._pace = sender, target, pace
        self._patient, self._on_problem = patient, on_problem
        self._pool = ThreadPoolExecutor(max(sender.lanes, 1), thread_name_prefix="lineagelog-forward")

    def close(self) -> None:
        """End the threads."""
        self._pace.abort.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def deliver(self, items: Sequence[Item]) -> Delivered:
        """Raises StoppedError or TargetUnavailable; then some of the events are delivered and will be sent again."""
        lanes = self._split_into_lanes(items)
        if len(lanes) == 1:
            return self._lane(lanes[0])
        futures: list[Future[Delivered]] = [self._pool.submit(self._lane, lane) for lane in lanes]
        parts: list[Delivered] = []
        problem: Exception | None = None
        for future in futures:  # all lanes end before anything is raised: no event is on its way afterwards
            try:
                parts.append(future.result())
            except Exception as error:  # of the target, or of the store that problems are told to
                self._pace.abort.set()
                problem = error if problem is None or isinstance(problem, StoppedError) else problem
        self._pace.abort.clear()
        if problem is not None:
            raise problem
        letters = tuple(letter for part in parts for letter in part.letters)
        return Delivered(sum(part.delivered for part in parts), letters, sum(part.retries for part in parts))

    def _split_into_lanes(self, items: Sequence[Item]) -> list[list[Item]]:
        lanes = self._sender.lanes
        if lanes <= 1 or len(items) <= 1:
            return [list(items)]
        found: list[list[Item]] = [[] for _ in range(lanes)]
        for item in items:
            name = item.event.run_id or item.event.job_name
            found[crc32(name.encode()) % lanes].append(item)
        return [lane for lane in found if lane]

    def _lane(self, items: list[Item]) -> Delivered:
        lane = _Lane(self._target.attempts)
        queue: deque[tuple[Item, ...]] = deque(_chunks(items, self._target.batch_size))
        while queue:
            chunk, rest = _within(queue.popleft(), self._sender.max_bytes)
            if rest:
                queue.appendleft(rest)
            self._pace.admit(len(chunk))
            answers = self._sender.send(chunk)
            queue.extendleft(reversed(lane.sort(chunk, answers)))
            if lane.progressed:
                self._pace.succeeded()
            if lane.trouble is not None:
                self._wait(lane.failures, lane.trouble)
        return Delivered(lane.delivered, tuple(lane.letters), lane.retries)

    def _wait(self, failures: int, trouble: TargetAnswer) -> None:
        text = f"{self._target.name}: {trouble.detail or trouble.verdict}"
        if not self._patient and (trouble.verdict is TargetVerdict.HELD or self._pace.silence > self._target.give_up):
            raise TargetUnavailable(text)
        self._on_problem(text)
        self._pace.back_off(failures, trouble.retry_after)


class _Lane:
    """The state of one lane: what is done, and how often the target failed in a row."""

    def __init__(self, attempts: int) -> None:
        self._attempts = attempts
        self.delivered = 0
        self.retries = 0
        self.letters: list[Letter] = []
        self.failures = 0
        """Attempts in a row that brought nothing forward."""
        self._breakdowns = 0
        """Of these, the ones on which the target broke down."""
        self.progressed = False
        self.trouble: TargetAnswer | None = None
        """Why the lane has to wait before its next attempt."""

    def sort(self, chunk: Sequence[Item], answers: Sequence[TargetAnswer]) -> list[tuple[Item, ...]]:
        """Count what is done; return what is to be sent next, in order."""
        left: list[Item] = []
        again: list[Item] = []
        split: list[Item] = []
        self.trouble, self.progressed = None, False
        for item, answer in zip(chunk, answers, strict=True):
            if answer.verdict is TargetVerdict.DELIVERED:
                self.delivered += 1
                self.progressed = True
            elif answer.verdict is TargetVerdict.REFUSED:
                self.letters.append(_letter(item, answer))
                self.progressed = True
            else:
                left.append(item)
                (split if answer.verdict is TargetVerdict.SPLIT else again).append(item)
                if answer.verdict in _WAITING and self.trouble is None:
                    self.trouble = answer
        if self.progressed or self.trouble is None:
            self.failures = self._breakdowns = 0
        if self.trouble is None:
            return [part for part in (*_halves(split), tuple(again)) if part]
        self.failures += 1
        self._breakdowns += self.trouble.verdict is TargetVerdict.FAILED
        self.retries += 1
        return self._after_trouble(self.trouble, left)

    def _after_trouble(self, trouble: TargetAnswer, again: list[Item]) -> list[tuple[Item, ...]]:
        """An event that the target breaks down on again and again is found by halving, then parked."""
        if not self._attempts or self._breakdowns < self._attempts:
            return [tuple(again)]
        if len(again) > 1:
            self._breakdowns = self._attempts - 1  # each half gets one attempt more
            return [part for part in _halves(again) if part]
        detail = f"failed {self._attempts} times: {trouble.detail}"
        self.letters.append(
            _letter(again[0], TargetAnswer(TargetVerdict.REFUSED, trouble.status, detail, reason="failing"))
        )
        self._breakdowns, self.trouble = 0, None
        return []


def _chunks(items: Sequence[Item], size: int) -> Iterator[tuple[Item, ...]]:
    """Events to be sent together. One that JSON parsers may choke on (a lone surrogate) would spoil a whole batch."""
    for is_odd, group in groupby(items, key=lambda item: item.event.is_exact):
        yield from batched(group, 1 if is_odd else size)


def _within(items: tuple[Item, ...], max_bytes: int | None) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
    """The first events, as many as a request may hold, but one at least; and the others."""
    size = 0
    for number, item in enumerate(items):
        size += len(item.body) + _BESIDE
        if max_bytes is not None and number and size > max_bytes - _AROUND:
            return items[:number], items[number:]
    return items, ()


def _halves(items: Sequence[Item]) -> list[tuple[Item, ...]]:
    half = (len(items) + 1) // 2
    return [tuple(items[:half]), tuple(items[half:])]


def _letter(item: Item, answer: TargetAnswer) -> Letter:
    return Letter(item.event, len(item.body), answer.reason, answer.status, answer.detail)
