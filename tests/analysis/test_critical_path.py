"""Critical path: the longest way to a product, and the slack beside it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from .support import DATABASE, ask, dataset, day, load, run, run_id_of, window

if TYPE_CHECKING:
    from lineagelog.store import LogStore

MART = {"dataset": "mart", "dataset_namespace": DATABASE}


def step(job: str, at: float, minutes: float, inputs: str, output: str, **more: str) -> list:
    """A run that began so many minutes after day 1 and took so many."""
    begin = day(1) + timedelta(minutes=at)
    end = (begin + timedelta(minutes=minutes)).isoformat()
    return run(job, begin, [*map(dataset, inputs.split())], [dataset(output)], eventTime=end, **more)


def night(number: int, slow: float = 60) -> list[list]:
    """Orders take an hour, customers half of it; joined for 10 minutes, then the mart for 20; a slow job beside it."""
    at = number * 1440.0
    return [
        step("orders", at, slow, "s", "orders"),
        step("customers", at + 5, 30, "s", "customers"),
        step("join", at + 60, 10, "orders customers static", "joined"),
        step("mart", at + 70, 20, "joined", "mart"),
        step("beside", at, 65, "s", "unread"),
    ]


def test_the_longest_way_and_the_slack_beside_it(store: LogStore) -> None:
    """Worked out by hand: 60 + 10 + 20 minutes; customers have 30 to spare. What was there before delays nothing."""
    load(store, step("yearly", -9000, 500, "s", "static"), *night(0), *night(1))
    found = {each.subject.name: each for each in ask(store, "critical_path", window(1, 9), history="20 days", **MART)}
    # the first join of all waited for what was there: the yearly one, 500 + 10 + 20
    assert found["yearly"].values["critical_runs"] == 1
    found = {each.subject.name: each for each in ask(store, "critical_path", window(2, 9), history="2 days", **MART)}
    assert list(found) == ["orders", "mart", "join", "customers"]
    orders = found["orders"]
    assert (orders.change, orders.severity, orders.n, orders.score) == ("critical", "medium", 1, 0.667)
    assert orders.values["path"] == "tests/orders → tests/join → tests/mart"
    assert orders.values["path_seconds"] == 90 * 60
    assert orders.explanation == (
        "tests/orders was on the longest path of 1 of 1 product run, with 1 h in all, 67% of it."
    )
    customers = found["customers"]
    assert (customers.change, customers.values["slack_seconds"], customers.severity) == ("slack", 1800.0, "low")
    assert customers.explanation == (
        "tests/customers was never on the longest path: it could have taken at least 30 min longer."
    )


def test_each_product_run_has_its_own_path(store: LogStore) -> None:
    """On one of two nights orders were quick; a run by its id is a product, too; one that failed made none."""
    load(store, *night(0), *night(1, slow=10), step("mart", 2950, 20, "joined", "mart", eventType="FAIL"))
    found = {each.subject.name: each for each in ask(store, "critical_path", window(1, 9), **MART)}
    assert {name: each.values["critical_runs"] for name, each in found.items()} == {
        "orders": 1, "mart": 2, "join": 2, "customers": 1,
    }  # fmt: skip
    assert (found["customers"].values["slack_seconds"], found["orders"].values["slack_seconds"]) == (0.0, 0.0)
    second = run_id_of("mart", day(1) + timedelta(minutes=1510))
    found = {each.subject.name: each for each in ask(store, "critical_path", window(1, 9), run_id=second)}
    assert found["mart"].values["path"] == "tests/customers → tests/join → tests/mart"
    assert found["orders"].values["slack_seconds"] == 1200.0


def test_a_product_of_nothing_and_one_of_a_single_run(store: LogStore) -> None:
    """Nothing to say, and a path of one job that nobody can shorten by looking upstream."""
    assert ask(store, "critical_path", window(1, 9), **MART) == []
    load(store, step("mart", 0, 20, "joined", "mart"))
    (only,) = ask(store, "critical_path", window(1, 9), **MART)
    assert (only.severity, only.score, only.values["path"]) == ("low", 1.0, "tests/mart")
