"""Lists of jobs and datasets: who they are, what is found by a text, in both orders, and what a bound reader sees."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from lineagelog.event.parse import parse
from lineagelog.read import Reader, Window
from tests.support import encode, event

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lineagelog.store.append.log import LogStore

ALWAYS = Window(datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC))


def told(minute: int, event_type: str, **more: Any) -> dict[str, Any]:
    return event(f"run {minute}", event_type, eventTime=f"2026-03-01T00:{minute:02}:00Z", **more)


def dataset(name: str, namespace: str = "db", **facets: Any) -> dict[str, Any]:
    return {"namespace": namespace, "name": name, "facets": facets}


def symlink(*names: str) -> dict[str, Any]:
    return {"identifiers": [{"namespace": "hive", "name": name, "type": "TABLE"} for name in names]}


EVENTS: Sequence[dict[str, Any]] = (
    told(
        0,
        "COMPLETE",
        job={
            "namespace": "shop",
            "name": "Load_Orders",
            "facets": {
                "ownership": {"owners": [{"name": "team:Müller", "type": "MAINTAINER"}]},
                "tags": {"tags": [{"key": "pii", "value": "true"}]},
                "documentation": {"description": "Loads 100% of the day"},
            },
        },
        outputs=[
            dataset("/lake/orders", symlinks=symlink("sales.orders")),
            dataset("plain", ownership={"owners": [{"name": "ops"}]}),
        ],
    ),
    told(1, "FAIL", job={"namespace": "shop", "name": "Load_Orders"}, inputs=[]),
    told(
        2,
        "START",
        job={"namespace": "bank", "name": "loans"},
        inputs=[{"namespace": "hive", "name": "sales.orders"}, dataset("bank_only")],
    ),
    {
        "eventTime": "2026-03-01T00:10:00Z",
        "producer": "https://x",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/JobEvent",
        "job": {"namespace": "shop", "name": "designed"},
    },
)


@pytest.fixture
def reader(store: LogStore) -> Reader:
    store.append([parse(encode(each)) for each in EVENTS])
    return Reader(store.database)


def job_names(reader: Reader, *, status: str | None = None, within: Any = None, **sought: Any) -> list[str]:
    return [row.job_name for row in reader.jobs(ALWAYS, status=status, within=within, **sought)]


def dataset_names(reader: Reader, within: Any = None, **sought: Any) -> list[str]:
    return [row.dataset_name for row in reader.datasets(ALWAYS, within=within, **sought)]


def test_a_job_with_its_newest_run(reader: Reader) -> None:
    """What was said of it stays, whoever was silent later; a job event makes a job without a run."""
    orders, loans, designed = reader.jobs(ALWAYS)
    assert (orders.job_name, orders.owners) == ("Load_Orders", [{"name": "team:Müller", "type": "MAINTAINER"}])
    assert (orders.last_run_id, orders.last_outcome, orders.description) == ("run 1", "FAIL", "Loads 100% of the day")
    assert [each["key"] for each in orders.tags] == ["pii"]
    assert orders.first_seen < orders.last_seen == orders.last_run_time
    assert (loans.last_outcome, designed.last_run_id, designed.last_outcome) == ("RUNNING", None, None)
    assert job_names(reader, status="fail") == ["Load_Orders"]
    assert job_names(reader, reverse=True) == ["designed", "loans", "Load_Orders"]


FOUND = {
    "load_": ["Load_Orders"],
    "MÜLLER": ["Load_Orders"],
    "PII": ["Load_Orders"],
    "100%": ["Load_Orders"],
    "1%day": [],
    "SHOP": ["Load_Orders", "designed"],
    "maintainer": [],
    "\\": [],
    "lo": ["Load_Orders", "loans"],
}


def test_jobs_are_found_by_a_text(reader: Reader) -> None:
    """Part of a name, an owner, a tag, the description, in any case; % and _ stand for themselves."""
    assert {text: job_names(reader, search=text) for text in FOUND} == FOUND
    bound = {text: [name for name in names if name != "loans"] for text, names in FOUND.items()}
    assert {text: job_names(reader, search=text, within=["shop"]) for text in FOUND} == bound


def test_a_dataset_once_with_all_its_names(reader: Reader) -> None:
    """A symlink's both names are one dataset, found by each."""
    rows = {row.dataset_name: row for row in reader.datasets(ALWAYS)}
    orders = next(row for row in rows.values() if len(row.names) == 2)
    assert {each["name"] for each in orders.names} == {"/lake/orders", "sales.orders"}
    assert rows.keys() == {orders.dataset_name, "plain", "bank_only"}
    for text in ("lake", "SALES.", "hive"):
        assert dataset_names(reader, search=text) == [orders.dataset_name]
    for name, namespace in (("/lake/orders", "db"), ("sales.orders", "hive")):
        assert dataset_names(reader, dataset=name, dataset_namespace=namespace) == [orders.dataset_name]
    assert dataset_names(reader, dataset="sales.orders", dataset_namespace="db") == []
    assert dataset_names(reader, search="ops") == ["plain"]


@pytest.mark.parametrize(
    ("mine", "seen", "hidden"),
    [
        ("shop", {"/lake/orders", "plain"}, ("sales", "bank")),
        ("bank", {"sales.orders", "bank_only"}, ("lake", "plain")),
    ],
)
def test_a_bound_reader_sees_what_its_jobs_used(reader: Reader, mine: str, seen: set[str], hidden: Any) -> None:
    """By the names that these used: others are not shown, and not found."""
    rows = list(reader.datasets(ALWAYS, within=[mine]))
    assert {row.dataset_name for row in rows} == seen
    assert all(len(row.names) == 1 for row in rows)
    for text in hidden:
        assert dataset_names(reader, within=[mine], search=text) == []
    for name in seen:
        assert dataset_names(reader, within=[mine], search=name) == [name]
    assert dataset_names(reader, within=["nobody"]) == []


def test_a_bound_reader_sees_what_events_of_its_jobs_named(store: LogStore, reader: Reader) -> None:
    """Without any run: the inputs and outputs of a job event, with a namespace or none; another's stay hidden."""
    designed: dict[str, Any] = {**EVENTS[-1], "inputs": [dataset("planned_in")], "outputs": [{"name": "planned_out"}]}
    theirs = designed | {
        "job": {"namespace": "bank", "name": "designed"},
        "inputs": [dataset("bank_plan")],
        "outputs": [],
    }
    alone = {"eventTime": "2026-03-01T00:11:00Z", "producer": "https://x", "dataset": dataset("of_nobody")}
    store.append([parse(encode(each)) for each in (designed, theirs, alone)])
    mine = {"/lake/orders", "plain", "planned_in", "planned_out"}
    assert set(dataset_names(reader, within=["shop"])) == mine
    assert dataset_names(reader, within=["shop"], search="planned_in") == ["planned_in"]
    assert set(dataset_names(reader, within=["bank"])) == {"sales.orders", "bank_only", "bank_plan"}
    assert "of_nobody" in dataset_names(reader)


def test_pages_are_the_whole(reader: Reader) -> None:
    """By the cursor, each row once, in the order of first sight or against it."""
    for ask, reverse in product((reader.jobs, reader.datasets), (False, True)):
        listing = ask(ALWAYS, reverse=reverse)
        rows, cursor = [], None
        while True:
            page = listing.page(1, cursor)
            rows += page.rows
            if (cursor := page.next) is None:
                break
        assert rows == list(listing)
        assert len(rows) == 3
        times = [row.first_seen for row in rows]
        assert times == sorted(times, reverse=reverse)


def test_a_window_is_when_it_was_there(reader: Reader) -> None:
    """Seen first before its end, and last not before its start."""
    time = next(iter(reader.jobs(ALWAYS, job="loans"))).first_seen
    window = Window(time, ALWAYS.end)
    assert [row.job_name for row in reader.jobs(window)] == ["loans", "designed"]
    assert "plain" not in [row.dataset_name for row in reader.datasets(window)]
