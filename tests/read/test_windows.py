"""The windows are exact: what brute force over the events gives, oldest first, each row once."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import astuple

from lineagelog.errors import InputError
from lineagelog.event.model import AssertionResult, Event, TestResult
from lineagelog.event.parse import parse
from lineagelog.read import Reader, Window
from lineagelog.read.cursor import decode, encode
from lineagelog.store.append.log import LogStore
from lineagelog.store.definition.schema import sql
from lineagelog.store.upkeep.purge import purge
from tests.store.contents import empty
from tests.store.generated import trees
from tests.support import EXAMPLES

if TYPE_CHECKING:
    from collections.abc import Callable

BEGIN = datetime(2026, 2, 28, 20, tzinfo=UTC)
"""So that the windows reach over the end of a month."""


def at(minutes: int) -> datetime:
    return BEGIN + timedelta(minutes=minutes)


@pytest.fixture
def schema_name() -> str:
    return "a store"


moments = st.integers(0, 48).map(lambda quarter: quarter * 15)
"""Minutes after BEGIN: runs are shorter and longer than an hour, and straddle windows with and without an event."""
timed = st.tuples(trees, moments, st.sampled_from(["a", "b", "c", "d"])).map(
    lambda drawn: {**drawn[0], "eventTime": at(drawn[1]).isoformat(), "run": {**drawn[0]["run"], "runId": drawn[2]}}
)
windows = st.tuples(moments, moments).map(lambda pair: Window(at(min(pair)), at(max(pair) + 15)))


def inside(window: Window, events: list[Event]) -> list[Event]:
    return [event for event in events if window.start <= event.event_time < window.end]


def runs_of(events: list[Event]) -> set[tuple[str, str, str]]:
    return {(event.run_id, event.job_namespace, event.job_name) for event in events if event.run is not None}


def stored(row: Any) -> tuple[str, str, str]:
    return row.run_id, row.job_namespace or "", row.job_name


def told_apart(result: AssertionResult | TestResult) -> tuple[Any, ...]:
    """What the keys of reports are made of."""
    return astuple(result)[: 8 if isinstance(result, AssertionResult) else 5]


def last_reports(events: list[Event], part: str) -> dict[Any, Any]:
    """A result to the time of its last report; of two reports with one key the one that says the greater things."""
    reports: dict[Any, tuple[Any, ...]] = {}
    for event in events:
        for result in getattr(event, part):
            said = told_apart(result)
            key, told = (event.event_time, *stored(event), *said), astuple(result)[len(said) :]
            reports[key] = max(told, reports.get(key, told), key=lambda told: [(v is not None, v) for v in told])
    last: dict[Any, Any] = {}
    for (time, run_id, namespace, name, *said), told in reports.items():
        names = (*said[:4], said[6], told[4]) if part == "assertions" else (said[0], said[2], told[3])
        result = (run_id, namespace, name, *names)
        last[result] = max(last.get(result, time), time)
    return last


def by_pages(listing: Any, size: int) -> list[Any]:
    rows: list[Any] = []
    cursor = None
    while True:
        page = listing.page(size, cursor)
        assert len(page.rows) <= size
        rows += page.rows
        cursor = page.next
        if cursor is None:
            return rows


@given(bodies=st.lists(timed, min_size=1, max_size=14), window=windows, size=st.integers(1, 4))
def test_windows_are_exact(store: LogStore, bodies: list[dict[str, Any]], window: Window, size: int) -> None:
    """Runs, datasets, assertions, tests, events and the summary are those of the events in the window."""
    empty(store)
    events = [event for event in (parse(json.dumps(body).encode()) for body in bodies) if isinstance(event, Event)]
    store.append(events)
    events = list({event.key: event for event in events}.values())
    reader, seen = Reader(store.database), inside(window, events)
    runs = list(reader.runs(window))
    assert len(runs) == len(runs_of(seen)) and {stored(run) for run in runs} == runs_of(seen)
    assert [run.first_event_time for run in runs] == sorted(run.first_event_time for run in runs)
    datasets = list(reader.run_datasets(window))
    expected = {
        (event.run_id, event.job_namespace, event.job_name, dataset.direction, dataset.namespace, dataset.name)
        for event in events
        if runs_of([event]) & runs_of(seen)
        for dataset in event.datasets
    }
    found = [(*stored(row), row.direction, row.dataset_namespace, row.dataset_name) for row in datasets]
    assert len(found) == len(expected) and set(found) == expected
    first = {stored(run): run.first_event_time for run in runs}
    assert [first[stored(row)] for row in datasets] == sorted(first[stored(row)] for row in datasets)
    for listing, part in ((reader.assertions, "assertions"), (reader.tests, "tests")):
        reports = listing(window, reports=True)
        rows = list(reports)
        keys = [(e.event_time, *stored(e), *told_apart(x)) for e in seen for x in getattr(e, part)]
        assert len(rows) == len({*keys})
        last = last_reports(events, part)
        results = list(listing(window))
        assert len(results) == sum(window.start <= time < window.end for time in last.values())
        assert by_pages(listing(window), size) == results
        assert [row.event_time for row in rows] == sorted(row.event_time for row in rows)
        assert by_pages(reports, size) == rows
    raw = list(reader.events(window, content=True))
    assert {row.event_hash for row in raw} == {event.event_hash for event in seen} and len(raw) == len(seen)
    assert all(json.loads(row.event or b"") for row in raw)
    summary = reader.event_summary(window)
    times = sorted(event.event_time for event in seen)
    assert (summary.event_count, summary.first_event_time) == (len(seen), times[0] if times else None)
    assert summary.last_event_time == (times[-1] if times else None)
    assert by_pages(reader.runs(window), size) == runs
    assert by_pages(reader.run_datasets(window), size) == datasets
    assert by_pages(reader.events(window, content=True), size) == raw


@settings(max_examples=EXAMPLES // 2)
@given(bodies=st.lists(timed, min_size=1, max_size=14), window=windows)
def test_filters_choose_among_the_rows(store: LogStore, bodies: list[dict[str, Any]], window: Window) -> None:
    """A filtered listing is the unfiltered one, filtered; a missing namespace is chosen by ''."""
    empty(store)
    store.append([parse(json.dumps(body).encode()) for body in bodies])
    reader = Reader(store.database)
    runs, datasets = list(reader.runs(window)), list(reader.run_datasets(window))
    touching = defaultdict(set)
    for row in datasets:
        touching[stored(row)].add((row.dataset_namespace, row.dataset_name))
    for namespace in ("prod", ""):
        of_job = [run for run in runs if (run.job_namespace or "", run.job_name) == (namespace, "load")]
        assert list(reader.runs(window, job="load", namespace=namespace)) == of_job
        ids = {stored(run) for run in of_job}
        assert {stored(row) for row in reader.run_datasets(window, job="load", namespace=namespace)} == ids & set(
            touching
        )
        chosen = [run for run in runs if (run.job_namespace or "") == namespace]
        assert list(reader.runs(window, namespace=namespace)) == chosen
    assert list(reader.runs(window, job="load")) == [run for run in runs if run.job_name == "load"]
    assert list(reader.runs(window, status="fail")) == [run for run in runs if run.outcome == "FAIL"]
    with_dataset = [run for run in runs if ("db", "a") in touching[stored(run)]]
    assert list(reader.runs(window, dataset_name="a", dataset_namespace="db")) == with_dataset
    found = list(reader.run_datasets(window, dataset_name="a", direction="o"))
    assert found == [row for row in datasets if (row.dataset_name, row.direction) == ("a", "O")]
    tests, assertions = list(reader.tests(window)), list(reader.assertions(window))
    assert list(reader.tests(window, status="PASS")) == [row for row in tests if row.status == "pass"]
    failed = [row for row in assertions if row.success is False]
    assert list(reader.assertions(window, success=False)) == failed
    events = list(reader.events(window))
    assert list(reader.events(window, event_type="START")) == [row for row in events if row.event_type == "START"]


@settings(max_examples=EXAMPLES // 2)
@given(bodies=st.lists(timed, min_size=1, max_size=14), window=windows)
def test_the_statements_for_other_clients_give_the_same(
    store: LogStore, bodies: list[dict[str, Any]], window: Window
) -> None:
    """The window statements of the schema, without pages, give the same rows as the reader."""
    empty(store)
    store.append([parse(json.dumps(body).encode()) for body in bodies])
    reader = Reader(store.database)
    bounds = {"window_start": window.start, "window_end": window.end}
    for name, fields in {"runs": 3, "run_datasets": 4, "assertions": 6, "tests": 4, "events": 4}.items():
        reports = {"reports": True} if name in ("assertions", "tests") else {}
        rows = list(getattr(reader, name)(window, **reports))
        with store.engine.connect() as connection:
            driver = connection.connection.driver_connection
            cursor = driver.execute(sql(getattr(store.schema, f"{name}_in_window")()), bounds)
            names = [column.name for column in cursor.description]
            found = [dict(zip(names, row, strict=True)) for row in cursor]
        assert len(found) == len(rows)
        if rows:
            keys = rows[0].__struct_fields__[:fields]
            mine = [tuple(getattr(row, key) for key in keys) for row in rows]
            theirs = [tuple(row[key] or (None if key != "job_name" else "") for key in keys) for row in found]
            order: Callable[[Any], str] = repr if name == "run_datasets" else str
            assert sorted(map(order, mine)) == sorted(map(order, theirs))


def event(run: str, minutes: int, kind: str = "RUNNING", job: str = "j") -> Event | Any:
    tree = {"eventTime": at(minutes).isoformat(), "eventType": kind, "run": {"runId": run}, "job": {"name": job}}
    return parse(json.dumps({**tree, "outputs": [{"namespace": "db", "name": f"of {run}"}]}).encode())


def test_where_events_are_purged_a_spanning_run_counts(store: LogStore) -> None:
    """A run that began before and ended after a window of purged events is taken to have had one in it."""
    store.append([event("spans", 0, "START"), event("spans", 600, "COMPLETE"), event("short", 700, "COMPLETE")])
    reader, window = Reader(store.database), Window(at(120), at(180))
    assert list(reader.runs(window)) == list(reader.run_datasets(window)) == []
    purge(store, at(150))
    assert [run.run_id for run in reader.runs(window)] == ["spans"]
    assert [row.run_id for row in reader.run_datasets(window)] == ["spans"]
    assert list(reader.runs(Window(at(160), at(180)))) == []


@pytest.mark.long
def test_cursors_go_on_under_inserts(store: LogStore) -> None:
    """Rows that are there all the time come once and in order, however many are inserted between the pages."""
    reader, window = Reader(store.database), Window(at(0), at(10_000))
    store.append([event(f"old{n:03}", 10 * n) for n in range(100)])
    for name in ("runs", "run_datasets", "events"):
        listing = getattr(reader, name)(window)
        seen: list[str] = []
        cursor, pages = None, 0
        while True:
            page = listing.page(7, cursor)
            seen += [row.run_id for row in page.rows]
            cursor, pages = page.next, pages + 1
            if cursor is None:
                break
            store.append([event(f"{name}{pages}-{n}", 10 * (n * 13 % 100) + 1) for n in range(5)])
        old = [run for run in seen if run.startswith("old")]
        assert old == [f"old{n:03}" for n in range(100)]
        assert len(seen) == len(set(seen)) > 100


def listings(reader: Reader, window: Window) -> dict[str, Callable[..., Any]]:
    return {
        "runs": lambda **more: reader.runs(window, **more),
        "run datasets": lambda **more: reader.run_datasets(window, **more),
        "assertions": lambda **more: reader.assertions(window, **more),
        "tests": lambda **more: reader.tests(window, **more),
        "events": lambda **more: reader.events(window, content=True, **more),
    }


@settings(max_examples=max(5, EXAMPLES // 3))
@given(bodies=st.lists(timed, max_size=14), window=windows, size=st.integers(1, 5))
def test_newest_first_is_the_other_way_round(
    store: LogStore, bodies: list[dict[str, Any]], window: Window, size: int
) -> None:
    """Every listing, as a whole and by pages; datasets go with their runs, and within one run keep their order."""
    empty(store)
    store.append([parse(json.dumps(body).encode()) for body in bodies])
    for name, find in listings(Reader(store.database), window).items():
        forward, backward = list(find()), list(find(reverse=True))
        assert by_pages(find(reverse=True), size) == backward, name
        if name == "run datasets":
            assert {str(row) for row in forward} == {str(row) for row in backward} and len(forward) == len(backward)
        else:
            assert backward == forward[::-1], name


def test_a_cursor_goes_on_in_its_own_order_only(store: LogStore) -> None:
    """Going on in the other one would leave rows out without a word."""
    store.append([event(f"r{number}", number) for number in range(3)])
    for name, find in listings(Reader(store.database), Window(at(0), at(100))).items():
        for reverse in (False, True):
            if (cursor := find(reverse=reverse).page(1).next) is not None:
                with pytest.raises(InputError, match=f"cursor of the list of {name}"):
                    find(reverse=not reverse).page(1, cursor)


def test_runs_of_a_parent_and_of_a_root(store: LogStore) -> None:
    """By the ids in the parent facet, in whatever case a UUID was written; with the duration of those that have one."""

    def child(run: str, minutes: int, kind: str, parent: str | None, root: str | None) -> Any:
        facet = {"run": {"runId": parent}, "job": {"namespace": "n", "name": "dag"}, "root": {"run": {"runId": root}}}
        tree = {
            "eventType": kind,
            "eventTime": at(minutes).isoformat(),
            "run": {"runId": run, "facets": {"parent": facet} if parent else {}},
            "job": {"namespace": "n", "name": run},
        }
        return parse(json.dumps(tree).encode())

    dag = "3F2504E0-4F89-41D3-9A0C-0305E82C3301"
    store.append([child("task", 1, "START", dag, dag), child("task", 3, "COMPLETE", dag, dag)])
    store.append([child("query", 2, "COMPLETE", "task", dag), child("other", 2, "COMPLETE", "x", "y")])
    store.append([child(dag, 0, "START", None, None)])
    reader, window = Reader(store.database), Window(at(0), at(100))

    def names(**wanted: Any) -> list[str]:
        return [run.job_name for run in reader.runs(window, **wanted)]

    assert names(parent=dag) == ["task"]
    assert names(root=dag) == ["task", "query"]
    assert names(root=dag, reverse=True) == ["query", "task"]
    assert names(parent="task") == ["query"]
    endless = "".join(map(chr, range(0x4E00, 0x4E00 + 5000)))  # too long for an index, and for the id of any run
    assert store.append([child("odd", 200, "COMPLETE", endless, endless)]).stored == 1
    assert names(parent=endless) == []
    assert names(parent="task", root="y") == []
    assert [run.duration for run in reader.runs(window, parent=dag)] == [120.0]
    assert [run.duration for run in reader.runs(window, parent="task")] == [None]


def test_a_cursor_that_is_none_is_refused(store: LogStore) -> None:
    """Another list's cursor, a cut one, any other text: one line that says what to do."""
    store.append([event(f"r{n}", n) for n in range(3)])
    reader, window = Reader(store.database), Window(at(0), at(10))
    good = reader.runs(window).page(1).next
    assert good is not None
    texts = [
        "",
        "x",
        "ä",
        good[:-3],
        good + "====!",
        good * 100,
        encode("runs", (1, "x")),
        encode("runs", (2**70, "x")),
    ]
    for cursor in texts:
        with pytest.raises(InputError, match="no cursor of the list of runs"):
            reader.runs(window).page(1, cursor)
    with pytest.raises(InputError, match="no cursor of the list of events"):
        reader.events(window).page(1, good)
    for limit in (0, -1, 10_001):
        with pytest.raises(InputError, match="a page has 1 to 10000 rows"):
            reader.runs(window).page(limit)
    with pytest.raises(InputError, match="names no time zone"):
        Window(datetime(2026, 1, 1), at(0))  # noqa: DTZ001


@given(st.datetimes(timezones=st.just(UTC)), st.uuids(), st.integers(0, 2**63 - 1))
def test_a_cursor_gives_its_key_back(time: datetime, key: Any, number: int) -> None:
    """Encoding and decoding a key changes nothing, to the microsecond."""
    kinds = (datetime, type(key), int)
    assert decode("x", kinds, encode("x", (time, key, number))) == (time, key, number)
