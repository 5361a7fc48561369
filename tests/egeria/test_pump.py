"""The pumps over queues that behave as Java's: batches, shares, failures, and a store that hangs."""

from __future__ import annotations

import queue
import threading
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from lineagelog.egeria.keeper import Failures, Keeper
from lineagelog.egeria.pump import CallPump, EventPump
from tests.support import PATIENCE, wait_until

from .stubs import AWAY, Kept, body


class StubBatch:
    """A batch of (connector, body)."""

    def __init__(self, *events: tuple[str, bytes]) -> None:
        self.events = events
        self.names = list(dict.fromkeys(name for name, _ in events))
        self.answers: list[dict[int, str] | str] = []
        self.answered = threading.Event()

    def size(self) -> int:
        return len(self.events)

    def bodies(self) -> bytes:
        return b"".join(body for _, body in self.events)

    def ends(self) -> Any:
        total, ends = 0, array("i")
        for _, each in self.events:
            total += len(each)
            ends.append(total)
        return ends

    def connectors(self) -> Sequence[str]:
        return self.names

    def connectorOf(self) -> Any:  # noqa: N802
        return array("i", [self.names.index(name) for name, _ in self.events])

    def complete(self) -> None:
        self._answer({})

    def finish(self, failed: Sequence[int], texts: Sequence[str]) -> None:
        self._answer(dict(zip(failed, texts, strict=True)))

    def fail(self, text: str) -> None:
        self._answer(text)

    def _answer(self, answer: dict[int, str] | str) -> None:
        self.answers.append(answer)
        self.answered.set()

    @property
    def answer(self) -> dict[int, str] | str:
        assert self.answered.wait(PATIENCE)
        (only,) = self.answers
        return only


class StubQueue:
    """Hands out what is put in."""

    def __init__(self) -> None:
        self.items: queue.Queue[Any] = queue.Queue()
        self.lost: list[Any] = []

    def take(self, *limits: int) -> Any:
        try:
            return self.items.get(timeout=limits[-1] / 1000)
        except queue.Empty:
            return None

    def waiting(self) -> int:
        return self.items.qsize()

    def recover(self) -> None:
        for lost in self.lost:
            self.items.put(lost)
        self.lost.clear()

    def put(self, *events: tuple[str, bytes]) -> StubBatch:
        batch = StubBatch(*events)
        self.items.put(batch)
        return batch


class StubKeeper:
    """Remembers; fails for bodies that begin with "bad"."""

    patience = 1000.0

    def __init__(self) -> None:
        self.taken: list[list[bytes]] = []

    def take(self, bodies: Sequence[bytes]) -> Failures:
        if b"defect" in bodies:
            raise TypeError("a defect that quotes the event")
        self.taken.append(list(bodies))
        return {index: f"no {each.decode()}" for index, each in enumerate(bodies) if each.startswith(b"bad")}

    keep = take


class StubConnectors:
    """Keepers by name."""

    def __init__(self, **keepers: Any) -> None:
        self.keepers = keepers

    def keeper(self, connector: str) -> Any:
        return self.keepers.get(connector)

    def hide(self, connector: str, text: str) -> str:
        return f"{connector}: {text}"

    def call(self, connector: str, operation: str, argument: str) -> str:
        return f"{connector} {operation} {argument}"


@pytest.fixture
def started() -> Iterator[Callable[..., StubQueue]]:
    pumps: list[EventPump] = []

    def start(**keepers: Any) -> StubQueue:
        source = StubQueue()
        pumps.append(EventPump(source, StubConnectors(**keepers)))  # type: ignore[arg-type]
        pumps[-1].start()
        return source

    yield start
    for each in pumps:
        assert each.stop(PATIENCE)


def test_each_connector_gets_its_share_in_order(started: Callable[..., StubQueue]) -> None:
    """One call of a keeper for all that a batch has for it."""
    one, two = StubKeeper(), StubKeeper()
    source = started(one=one, two=two)
    batch = source.put(("one", b"a"), ("two", b"b"), ("one", b""), ("one", b"c" * 1000), ("two", b"d"))
    assert batch.answer == {}
    assert (one.taken, two.taken) == ([[b"a", b"", b"c" * 1000]], [[b"b", b"d"]])
    assert source.put(("two", b"alone")).answer == {}
    assert two.taken[1:] == [[b"alone"]]


def test_failures_find_their_events(started: Callable[..., StubQueue]) -> None:
    """The index is the batch's, the text has gone through hide(); a connector that is not started is told, too."""
    source = started(one=StubKeeper(), two=StubKeeper())
    batch = source.put(("one", b"good"), ("two", b"bad1"), ("gone", b"x"), ("two", b"good"), ("two", b"bad2"))
    expected = {1: "two: no bad1", 2: "the connector is not started", 4: "two: no bad2"}
    assert batch.answer == expected
    assert source.put(("one", b"bad")).answer == {0: "one: no bad"}


def test_a_defect_fails_the_batch_and_not_the_pump(started: Callable[..., StubQueue]) -> None:
    """The text says kind and place, not what the error quotes."""
    source = started(one=StubKeeper())
    answer = source.put(("one", b"defect")).answer
    assert isinstance(answer, str)
    assert (answer.startswith("internal error: TypeError in "), "quotes" in answer) == (True, False)
    assert source.put(("one", b"next")).answer == {}


def test_a_batch_that_cannot_be_read_is_answered(started: Callable[..., StubQueue]) -> None:
    """There is no memory for it: its senders are told, and do not wait for ever; the pump goes on."""

    class Unreadable(StubBatch):
        def bodies(self) -> bytes:
            raise MemoryError

    source = started(one=StubKeeper())
    batch = Unreadable(("one", b"a"))
    source.items.put(batch)
    assert batch.answer == "the event is not kept: MemoryError"
    assert source.put(("one", b"b")).answer == {}


@pytest.fixture
def hanging(tmp_path: Path) -> Iterator[tuple[Kept, Keeper]]:
    kept = Kept(tmp_path / "spool")
    keeper = kept.keeper(wait=0.0)
    kept.door.hang = threading.Event()
    yield kept, keeper
    kept.close()


def test_a_store_that_hangs_is_overtaken(hanging: tuple[Kept, Keeper], started: Callable[..., StubQueue]) -> None:
    """Its events are spooled and acknowledged, others go on; when it wakes up, nothing is answered twice or lost."""
    kept, keeper = hanging
    other = StubKeeper()
    source = started(hanging=keeper, other=other)
    begin = time.monotonic()
    first = source.put(("hanging", body(1)), ("other", b"bad"), ("hanging", body(2)))
    assert first.answer == {1: "other: no bad"}
    assert time.monotonic() - begin > 1.5
    assert source.put(("hanging", body(3))).answer == source.put(("other", b"b")).answer == {}
    assert [b"b"] in other.taken
    assert keeper.database().startswith("away: ")
    assert kept.door.hang is not None
    kept.door.hang.set()
    wait_until(lambda: {body(1), body(2), body(3)} <= set(kept.door.taken))
    wait_until(lambda: keeper.database() == "up")
    assert len(first.answers) == 1


def test_a_store_that_hangs_is_overtaken_though_its_connector_was_stopped(tmp_path: Path) -> None:
    """The platform disconnects the connector meanwhile: its events are spooled for its next start, others go on."""
    kept = Kept(tmp_path / "spool")
    kept.door.hang = threading.Event()
    connectors, source = StubConnectors(hanging=kept.keeper(), other=StubKeeper()), StubQueue()
    pump = EventPump(source, connectors)  # type: ignore[arg-type]
    pump.start()
    first = source.put(("hanging", body(1)), ("other", b"a"))
    wait_until(lambda: kept.door.asked)
    assert connectors.keepers.pop("hanging").close(1)
    assert first.answer == {}
    assert kept.spooled == [body(1)]
    assert source.put(("other", b"b")).answer == {}
    assert connectors.keepers["other"].taken == [[b"a"], [b"b"]]
    kept.close()
    assert pump.stop(PATIENCE)


def test_stop_finishes_what_is_in_hand(tmp_path: Path) -> None:
    """The batch that is being stored is answered before stop returns; what waits is left."""
    kept = Kept(tmp_path / "spool")
    keeper = kept.keeper(wait=10 * PATIENCE)
    source = StubQueue()
    pump = EventPump(source, StubConnectors(one=keeper))  # type: ignore[arg-type]
    pump.start()
    kept.door.store.trouble = AWAY
    batch = source.put(("one", body(1)))
    wait_until(lambda: source.waiting() == 0)
    threading.Timer(0.2, keeper.hurry).start()
    assert pump.stop(PATIENCE)
    assert (batch.answer, kept.spooled) == ({}, [body(1)])
    source.put(("one", body(2)))
    assert source.waiting() == 1
    kept.close()


def test_calls_are_answered_in_turn() -> None:
    """With the answer, or with the text of the error."""

    class StubCall:
        def __init__(self, operation: str) -> None:
            self.said: queue.Queue[str] = queue.Queue()
            self.operation = lambda: operation
            self.connector, self.argument = lambda: "c", lambda: "{}"
            self.answer, self.fail = self.said.put, lambda text: self.said.put(f"failed: {text}")

    source = StubQueue()
    pump = CallPump(source, StubConnectors())  # type: ignore[arg-type]
    pump.start()
    calls = [StubCall("start"), StubCall("refresh")]
    for each in calls:
        source.items.put(each)
    assert [each.said.get(timeout=PATIENCE) for each in calls] == ["c start {}", "c refresh {}"]
    assert pump.stop(PATIENCE)


def test_an_answer_that_java_cannot_take_is_given_again(started: Callable[..., StubQueue]) -> None:
    """There is no memory for a moment: who waits for the answer would wait for ever, and Egeria's dispatch with it."""

    class Starved(StubBatch):
        failures = 2

        def _answer(self, answer: dict[int, str] | str) -> None:
            if self.failures:
                self.failures -= 1
                raise RuntimeError("java.lang.OutOfMemoryError")
            super()._answer(answer)

    source = started(one=StubKeeper())
    for sent, expected in ((b"good", {}), (b"bad", {0: "one: no bad"})):
        batch = Starved(("one", sent))
        source.items.put(batch)
        assert batch.answer == expected


def test_a_batch_that_can_be_read_a_little_later_is_stored(started: Callable[..., StubQueue]) -> None:
    """No memory for it at first: its events are not refused for that."""

    class Late(StubBatch):
        failures = 1

        def bodies(self) -> bytes:
            if self.failures:
                self.failures -= 1
                raise MemoryError
            return super().bodies()

    keeper = StubKeeper()
    batch = Late(("one", b"a"))
    started(one=keeper).items.put(batch)
    assert (batch.answer, keeper.taken) == ({}, [[b"a"]])


def test_what_is_lost_on_the_way_from_java_is_taken_again() -> None:
    """Java has handed over an event, or a call, and there was no memory to bring it to Python."""

    class Losing(StubQueue):
        losses = 1

        def take(self, *limits: int) -> Any:
            taken = super().take(*limits)
            if taken is not None and self.losses:
                self.losses -= 1
                self.lost.append(taken)
                raise RuntimeError("java.lang.OutOfMemoryError")
            return taken

    source = Losing()
    pump = EventPump(source, StubConnectors(one=StubKeeper()))  # type: ignore[arg-type]
    pump.start()
    assert source.put(("one", b"a")).answer == {}
    assert pump.stop(PATIENCE)


def test_a_queue_that_fails_is_asked_again() -> None:
    """Java had no memory for a moment: the pump must not end, since nobody else would take the events."""

    class Failing(StubQueue):
        failures = 1

        def take(self, *limits: int) -> Any:
            if self.failures:
                self.failures -= 1
                raise RuntimeError("java.lang.OutOfMemoryError")
            return super().take(*limits)

    source, calls = Failing(), Failing()
    pump = EventPump(source, StubConnectors(one=StubKeeper()))  # type: ignore[arg-type]
    call_pump = CallPump(calls, StubConnectors())  # type: ignore[arg-type]
    pump.start()
    call_pump.start()
    with capture_logs() as logs:
        assert source.put(("one", b"a")).answer == {}
        wait_until(lambda: calls.failures == 0)
    assert pump.stop(PATIENCE)
    assert call_pump.stop(PATIENCE)
    assert {line["event"] for line in logs} <= {"the event queue fails", "the call queue fails"}
