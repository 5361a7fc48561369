"""Tasks in the background: one process of a store leads each, and another follows when it ends, dies or is cut off."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest
from structlog.testing import capture_logs

from lineagelog.service.background import Background, Task
from lineagelog.store import Database, open_engine
from lineagelog.store.ledgers.leadership import Leadership
from tests.support import connect, wait_until

type Make = Callable[..., Background]
LEADERS = """
    SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""


class Counted:
    """A task that tells how many of its name are at work, and the most that ever were."""

    def __init__(self, name: str = "count") -> None:
        self.name = name
        self.at_work = self.most = self.runs = 0
        self._lock = threading.Lock()

    def run(self, stop: threading.Event) -> None:
        with self._lock:
            self.at_work += 1
            self.runs += 1
            self.most = max(self.most, self.at_work)
        stop.wait()
        with self._lock:
            self.at_work -= 1


class Broken:
    """A task that always fails."""

    name = "count"

    def run(self, stop: threading.Event) -> None:
        raise ZeroDivisionError("of postgresql://me:hunter2@h/x")


def figures(background: Background) -> dict[tuple[str, ...], float]:
    return {(each.name, *each.labels.values()): each.value for each in background.samples()}


@pytest.fixture
def make(database_url: str) -> Iterator[Make]:
    """Makes what stands for tasks in one process: with connections of its own, and not started."""
    with ExitStack() as stack:

        def made(*tasks: Task, url: str = database_url) -> Background:
            engine = open_engine(url, pool_size=1)
            stack.callback(engine.dispose)
            background = Background(Leadership(Database(engine, "any")), tasks, look_seconds=0.05)
            stack.callback(background.stop, 30)
            return background

        yield made


@contextmanager
def started(background: Background) -> Iterator[Background]:
    background.start()
    try:
        yield background
    finally:
        assert background.stop(30)


def test_one_leads_and_another_follows_it(make: Make) -> None:
    """As long as the leader lives nobody else works; a task that only one process has is led there all the same."""
    task, other = Counted(), Counted("other")
    first, second = make(task), make(task, other)
    with started(second):
        with started(first):
            wait_until(lambda: second.led == {"count", "other"} or (first.led, second.led) == ({"count"}, {"other"}))
            (leader,) = [each for each in (first, second) if "count" in each.led]
            follower = second if leader is first else first
            for _ in range(3):  # looks of the follower
                wait_until(lambda: task.at_work == 1)
                assert figures(follower)["lineagelog_task_leads", "count"] == 0
            assert figures(leader)["lineagelog_task_leads", "count"] == 1
        wait_until(lambda: second.led == {"count", "other"})
    assert (task.most, task.at_work, other.runs) == (1, 0, 1)


def test_a_leader_that_is_cut_off_steps_down(make: Make, database_url: str) -> None:
    """Its session is killed: the lock is free for others, so its task ends; somebody leads again."""
    task = Counted()
    first, second = make(task), make(task)
    with started(first), started(second):
        wait_until(lambda: task.at_work == 1)
        with connect(database_url, autocommit=True) as connection:
            connection.execute(f"SELECT pg_terminate_backend(pid) FROM ({LEADERS}) l")
        wait_until(lambda: task.runs >= 2 and task.at_work == 1)
        wait_until(lambda: len(first.led | second.led) == 1 and not first.led & second.led)
        assert not any(figures(each).get(("lineagelog_task_failures", "count")) for each in (first, second))
    assert task.at_work == 0


@pytest.mark.long
def test_a_task_that_fails_is_left_to_others(make: Make) -> None:
    """It may be this machine's fault. The metrics tell, the log says so once and without credentials."""
    with capture_logs() as logs, started(make(Broken(), Counted("other"))) as first:
        wait_until(lambda: figures(first).get(("lineagelog_task_failures", "count", "ZeroDivisionError")))
        wait_until(lambda: figures(first)["lineagelog_task_failing", "count"] == 1)
        wait_until(lambda: first.led == {"other"})  # which may take its lock after the first has failed
        assert figures(first)["lineagelog_task_failing", "other"] == 0
        with started(make(Counted())) as second:
            wait_until(lambda: second.led == {"count"})
            wait_until(lambda: figures(first)["lineagelog_task_failing", "count"] == 0)
    failed = [line for line in logs if line["event"] == "task failed"]
    assert [line["task"] for line in failed] == ["count"]
    assert "ZeroDivisionError: of postgresql://me:***@h/x" in failed[0]["error"]


def test_behind_a_pooler_of_transactions_nothing_runs(make: Make, database_url: str) -> None:
    """There locks would stay behind in sessions of others: it is said, once for all tasks, and shown."""
    task = Counted()
    pooled = f"{database_url}&pooling=transaction"
    with capture_logs() as logs, started(make(task, Counted("other"), url=pooled)) as background:
        wait_until(lambda: figures(background)["lineagelog_task_failing", "count"] == 1)
    (line,) = [line for line in logs if line["event"] == "tasks do not run"]
    assert (line["tasks"], "needs session pooling" in line["error"]) == (["count", "other"], True)
    assert task.runs == 0


def test_a_database_that_is_away_is_waited_for(make: Make, database_url: str) -> None:
    """Nothing runs meanwhile, and a stop does not wait for it."""
    task = Counted()
    with capture_logs() as logs, started(make(task, url=database_url.replace("port=5432", "port=1"))) as background:
        wait_until(lambda: figures(background)["lineagelog_task_failing", "count"] == 1)
    assert [line["event"] for line in logs] == ["tasks wait"]
    assert task.runs == 0


def test_the_session_of_a_leader_ends_soon_after_its_machine(database_url: str) -> None:
    """The database is told to look after the connection: a lock must not outlive a machine by hours."""
    engine = open_engine(database_url, pool_size=1)
    with Leadership(Database(engine, "any")).stand() as candidacy:
        assert candidacy.take({"one"}) == {"one"}
        (pid,) = _pids(database_url)
        assert pid
    assert _pids(database_url) == []
    engine.dispose()


def _pids(database_url: str) -> list[int]:
    with connect(database_url) as connection:
        return [row[0] for row in connection.execute(LEADERS)]
