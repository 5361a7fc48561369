"""Whatever the body of a run does: one START, one terminal event, both valid, and the body's own outcome unchanged."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lineagelog.sdk import EventType, lineage_run
from tests.specification import validate

if TYPE_CHECKING:
    from .conftest import Memory


class Unspeakable(Exception):
    """Its text cannot be had."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


class Refusing(BaseException):
    """Neither an error nor an interrupt."""


OUTCOMES: dict[str, tuple[Callable[[], BaseException] | None, str]] = {
    "return": (None, "COMPLETE"),
    "ValueError": (lambda: ValueError("wrong"), "FAIL"),
    "no text": (Unspeakable, "FAIL"),
    "other base": (Refusing, "FAIL"),
    "group": (lambda: ExceptionGroup("several", [ValueError(), TypeError()]), "FAIL"),
    "mixed group": (lambda: BaseExceptionGroup("some", [KeyboardInterrupt(), ValueError()]), "FAIL"),
    "interrupt group": (lambda: BaseExceptionGroup("all", [KeyboardInterrupt(), asyncio.CancelledError()]), "ABORT"),
    "exit": (SystemExit, "COMPLETE"),
    "exit 0": (lambda: SystemExit(0), "COMPLETE"),
    "exit None": (lambda: SystemExit(None), "COMPLETE"),
    "exit 1": (lambda: SystemExit(1), "FAIL"),
    "exit text": (lambda: SystemExit("gone"), "FAIL"),
    "exit empty": (lambda: SystemExit(""), "FAIL"),
    "interrupt": (lambda: KeyboardInterrupt(), "ABORT"),
    "cancelled": (lambda: asyncio.CancelledError(), "ABORT"),
    "time-out": (lambda: TimeoutError(), "FAIL"),
    "generator exit": (lambda: GeneratorExit(), "ABORT"),
}
STYLES = (
    "with",
    "decorator",
    "async with",
    "async decorator",
    "generator",
    "closed generator",
    "async generator",
    "thread",
    "pool",
)


@dataclass(frozen=True)
class Node:
    """A run: how it is written, what its body does in the end, and the runs within it."""

    style: str
    outcome: str
    children: tuple[Node, ...]


nodes = st.recursive(
    st.builds(Node, st.sampled_from(STYLES), st.sampled_from(sorted(OUTCOMES)), st.just(())),
    lambda inner: st.builds(
        Node, st.sampled_from(STYLES), st.sampled_from(sorted(OUTCOMES)), st.lists(inner, max_size=3).map(tuple)
    ),
    max_leaves=8,
)


class Play:
    """Play a tree of runs and remember for each what should be seen of it."""

    def __init__(self) -> None:
        self.expected: dict[str, str] = {}
        self._number = 0

    def run(self, node: Node) -> None:
        """Play a node and check that its body's outcome comes out unchanged."""
        self._number += 1
        name = f"job {self._number}"
        make, terminal = OUTCOMES[node.outcome]
        problem = make() if make else None
        self.expected[name] = "ABORT" if node.style == "closed generator" else terminal
        answer = object()

        def body() -> object:
            for child in node.children:
                self.run(child)
            if problem is not None:
                raise problem
            return answer

        came = getattr(self, f"_{node.style.replace(' ', '_')}")(lineage_run(name), body)
        if node.style != "closed generator":
            assert came is (answer if problem is None else problem)

    def _with(self, run: lineage_run, body: Callable[[], object]) -> object:
        try:
            with run:
                return body()
        except BaseException as raised:
            return raised

    def _decorator(self, run: lineage_run, body: Callable[[], object]) -> object:
        try:
            return run(body)()
        except BaseException as raised:
            return raised

    def _generator(self, run: lineage_run, body: Callable[[], object]) -> object:
        @run
        def generate() -> Iterator[object]:
            got = yield 1
            assert got == "sent"
            try:
                yield 2
            except KeyError:
                yield body()

        try:
            made: Any = generate()
            assert next(made) == 1
            assert made.send("sent") == 2
            value = made.throw(KeyError())
            assert list(made) == []
        except BaseException as raised:
            return raised
        return value

    def _closed_generator(self, run: lineage_run, body: Callable[[], object]) -> object:
        @run
        def generate() -> Iterator[int]:
            yield 1

        made: Any = generate()
        next(made)
        made.close()
        return None

    def _async(self, run: lineage_run, coroutine: Callable[[], Any]) -> object:
        async def outer() -> object:
            try:
                return await coroutine()
            except BaseException as raised:
                return raised

        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(outer())
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(asyncio.run, outer()).result()

    def _async_with(self, run: lineage_run, body: Callable[[], object]) -> object:
        async def coroutine() -> object:
            async with run:
                await asyncio.sleep(0)
                return body()

        return self._async(run, coroutine)

    def _async_decorator(self, run: lineage_run, body: Callable[[], object]) -> object:
        @run
        async def coroutine() -> object:
            await asyncio.sleep(0)
            return body()

        return self._async(run, coroutine)

    def _async_generator(self, run: lineage_run, body: Callable[[], object]) -> object:
        @run
        async def generate() -> Any:
            got = yield 1
            assert got == "sent"
            try:
                yield 2
            except KeyError:
                yield body()

        async def coroutine() -> object:
            made = generate()
            assert await made.asend(None) == 1
            assert await made.asend("sent") == 2
            value = await made.athrow(KeyError())
            assert [item async for item in made] == []
            return value

        return self._async(run, coroutine)

    def _thread(self, run: lineage_run, body: Callable[[], object]) -> object:
        came: list[object] = []
        thread = threading.Thread(target=lambda: came.append(self._with(run, body)))
        thread.start()
        thread.join()
        return came[0]

    def _pool(self, run: lineage_run, body: Callable[[], object]) -> object:
        with ThreadPoolExecutor(2) as pool:
            return pool.submit(self._with, run, body).result()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(node=nodes)
def test_one_start_and_one_terminal_event(memory: Memory, node: Node) -> None:
    """For trees of runs in all styles and with all outcomes."""
    memory.clear()
    play = Play()
    play.run(node)
    seen: dict[str, list[str]] = {}
    ids: dict[str, set[str]] = {}
    for event in memory.events:
        validate(event)
        seen.setdefault(event["job"]["name"], []).append(event["eventType"])
        ids.setdefault(event["job"]["name"], set()).add(event["run"]["runId"])
        assert ("errorMessage" in event["run"]["facets"]) == (event["eventType"] == "FAIL")
    assert seen == {name: ["START", terminal] for name, terminal in play.expected.items()}
    assert all(len(found) == 1 for found in ids.values())
    assert len(set.union(*ids.values())) == len(ids)


def test_cancelling_a_task_is_an_abort(memory: Memory) -> None:
    """A task that is cancelled stays cancelled, and its run is aborted."""

    async def main() -> bool:
        async def job() -> None:
            async with lineage_run("job"):
                await asyncio.sleep(60)

        task = asyncio.create_task(job())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return task.cancelled()

    assert asyncio.run(main())
    assert memory.types() == ["START", "ABORT"]


def test_a_time_out_around_a_run_is_an_abort_inside_it(memory: Memory) -> None:
    """What the run sees of `asyncio.timeout` is a cancellation; the caller gets its TimeoutError."""

    async def main() -> None:
        async with asyncio.timeout(0.01), lineage_run("job"):
            await asyncio.sleep(60)

    with pytest.raises(TimeoutError):
        asyncio.run(main())
    assert memory.types() == ["START", "ABORT"]


def test_an_abandoned_generator_is_an_abort(memory: Memory) -> None:
    """A generator that is dropped half-way ends its run when it is collected."""

    @lineage_run("job")
    def numbers() -> Iterator[int]:
        yield 1
        yield 2

    assert next(numbers()) == 1
    assert memory.types() == ["START", "ABORT"]


def test_the_failure_says_why(memory: Memory) -> None:
    """The errorMessage facet has the exception, its trace, and no password."""
    with pytest.raises(ValueError, match="hunter2"), lineage_run("job"):
        url = "postgresql://etl:hunter2@db.example/dwh"
        raise ValueError(f"cannot connect to {url} password=hunter2")
    facet = memory.events[1]["run"]["facets"]["errorMessage"]
    assert facet["message"] == ("ValueError: cannot connect to postgresql://etl:***@db.example/dwh password=***")
    assert facet["programmingLanguage"] == "PYTHON"
    assert "test_the_failure_says_why" in facet["stackTrace"]
    assert "hunter2" not in facet["stackTrace"]


def test_events_carry_no_credentials(memory: Memory) -> None:
    """Neither in names nor in facets nor in SQL, whoever gave them."""
    token = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
    facets = {"sql": {"query": "CREATE USER x PASSWORD 'hunter2'"}, "credential": {"value": "hunter2"}}
    url = "postgres://me:hunter2@db/shop?sig=hunter2&X-Amz-Signature=hunter2"
    with lineage_run(f"load {token}", inputs=[{"namespace": url, "name": "Bearer hunter2"}], job_facets=facets):
        pass
    sent = json.dumps(memory.events)
    assert "hunter2" not in sent
    assert token not in sent
    assert memory.events[0]["inputs"][0]["namespace"] == "postgres://me:***@db/shop?sig=***&X-Amz-Signature=***"


def test_the_interpreter_interrupted_while_emitting_still_ends_the_run(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the very moment of an event is honoured, and the run still gets its terminal event."""
    real, count = memory.emit, iter(range(10))

    def interrupted(event: Any) -> None:
        if next(count) == 1:
            raise KeyboardInterrupt
        real(event)

    monkeypatch.setattr(memory, "emit", interrupted)
    with pytest.raises(KeyboardInterrupt), lineage_run("job"):
        pass
    assert memory.types() == ["START", "COMPLETE"]


def test_an_interrupt_at_the_start_aborts(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while START is emitted: the body does not run, and the run is aborted."""
    real, count = memory.emit, iter(range(10))

    def interrupted(event: Any) -> None:
        real(event)
        if next(count) == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(memory, "emit", interrupted)
    plan = lineage_run("job")
    with pytest.raises(KeyboardInterrupt), plan:
        pytest.fail("the body runs")
    assert memory.types() == ["START", "ABORT"]
    with plan:
        pass
    assert memory.types() == ["START", "ABORT", "START", "COMPLETE"]


def test_one_object_can_run_again_and_within_itself(memory: Memory) -> None:
    """A `lineage_run` used twice, and inside itself, makes runs of their own."""
    plan = lineage_run("job")
    with plan as first, plan as second:
        pass
    with plan as third:
        pass
    assert len({first.run_id, second.run_id, third.run_id}) == 3
    assert memory.types() == ["START", "START", "COMPLETE", "COMPLETE", "START", "COMPLETE"]
    assert EventType.COMPLETE.value == "COMPLETE"


def test_times_never_run_backwards(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that is set back during a run does not let it end before it began."""
    from lineagelog.sdk import events

    real = events.event_time
    with lineage_run("job"):
        monkeypatch.setattr(events, "event_time", lambda given=None: real("2001-01-01T00:00:00Z"))
    start, end = (event["eventTime"] for event in memory.events)
    assert end >= start
