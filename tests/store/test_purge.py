"""Purging: what goes and what stays, in short transactions, beside writers."""

from __future__ import annotations

import json
import sys
import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from lineagelog.errors import StoreError
from lineagelog.event.model import Event
from lineagelog.event.parse import parse
from lineagelog.store import Database
from lineagelog.store.append.log import LogStore, Verdict
from lineagelog.store.definition.partitions import Partitions
from lineagelog.store.definition.schema import sql
from lineagelog.store.upkeep.purge import Purged, count_purgeable, purge
from lineagelog.store.upkeep.verify import Verifier
from tests.support import EXAMPLES, PATIENCE, connect

from .contents import TABLES, empty, ids, rows
from .generated import trees

if TYPE_CHECKING:
    pass

CUTOFF = datetime(2026, 3, 16, tzinfo=UTC)
OLD, NEW = "2026-01-10T00:00:00Z", "2026-04-14T23:00:00Z"


@pytest.fixture
def schema_name() -> str:
    return "a store"


def event(run: str, time: str, kind: str = "COMPLETE", *, job: str = "load", schema: str | None = None) -> Event:
    facets = {} if schema is None else {"schema": {"fields": [{"name": schema}]}}
    tree = {
        "eventType": kind,
        "eventTime": time,
        "run": {"runId": run, "facets": {"test": {"tests": [{"name": "t", "status": "pass"}]}}},
        "job": {"namespace": "prod", "name": job},
        "inputs": [
            {
                "namespace": "db",
                "name": "in",
                "inputFacets": {"dataQualityAssertions": {"assertions": [{"assertion": "unique", "success": True}]}},
            }
        ],
        "outputs": [{"namespace": "db", "name": "out", "facets": facets}],
    }
    parsed = parse(json.dumps(tree).encode())
    assert isinstance(parsed, Event)
    return parsed


def differences(store: LogStore) -> list[str]:
    return [str(difference) for difference in Verifier(store).verify()]


def counts(purged: Purged) -> tuple[int, ...]:
    digest = (purged.runs, purged.run_datasets, purged.assertions, purged.tests)
    return purged.events, *digest, purged.schema_versions, purged.lineage_versions


def test_a_run_goes_with_its_last_event(store: LogStore) -> None:
    """A run and what belongs to it go when its last event is older; raw events, assertions and tests by their time."""
    store.append(
        [
            event("done", OLD, schema="gone"),
            event("running", "2026-02-01T00:00:00Z", "START", schema="kept"),
            event("running", NEW, "RUNNING"),
            event("edge", "2026-03-15T23:59:00Z", "START"),
            event("edge", "2026-03-16T00:01:00Z"),
            event("at", "2026-03-16T00:00:00Z"),
            event("never ended", "2026-02-01T00:00:00Z", "START"),
        ]
    )
    would = count_purgeable(store, CUTOFF)
    assert len(rows(store, "ol_event")) == 7
    purged = purge(store, CUTOFF)
    assert counts(purged) == counts(would) == (4, 2, 4, 4, 4, 1, 0)
    assert purged.partitions == would.partitions == ("ol_event_y2026m01", "ol_event_y2026m02")
    assert ids(store, "ol_run") == ids(store, "ol_run_dataset") == {"running", "edge", "at"}
    assert {row[1] for row in rows(store, "ol_event", "run_id, event_time")} == {
        datetime(2026, 4, 14, 23, tzinfo=UTC),
        datetime(2026, 3, 16, 0, 1, tzinfo=UTC),
        CUTOFF,
    }
    assert len(rows(store, "ol_assertion")) == len(rows(store, "ol_test")) == 3
    assert ("edge", datetime(2026, 3, 15, 23, 59, tzinfo=UTC)) in rows(store, "ol_run", "run_id, start_time")
    assert len(rows(store, "ol_schema_version")) == 1
    assert differences(store) == []
    assert list(Verifier(store).rebuild()) == []
    assert ids(store, "ol_run") == {"running", "edge", "at"}


def test_a_second_run_deletes_nothing(store: LogStore) -> None:
    """Purging again with the same cut-off, or an older one, finds nothing, and the floor does not sink."""
    store.append([event("done", OLD), event("new", NEW)])
    purge(store, CUTOFF)
    for cutoff in (CUTOFF, CUTOFF - timedelta(days=30)):
        assert count_purgeable(store, cutoff).rows == 0
        again = purge(store, cutoff)
        assert (again.rows, again.partitions) == (0, ())
    assert rows(store, "ol_store", "retention_floor") == {(CUTOFF,)}


def partitions(store: LogStore) -> set[str]:
    with store.engine.connect() as connection:
        found = connection.execute(text("SELECT relname FROM pg_class WHERE relname ~ '^ol_event_y' AND relkind = 'r'"))
        return {name for (name,) in found}


def test_an_expired_event_makes_no_partition(store: LogStore) -> None:
    """Neither in a process that has not looked at the floor yet, nor in one that knows an older one."""
    store.append([event("new", NEW)])
    beside = LogStore(store.database)
    purge(store, CUTOFF)
    before = partitions(store)

    for writer in (beside, store, LogStore(store.database)):
        appended = writer.append([event("old", "2021-05-01T00:00:00Z"), event("older", "2020-05-01T00:00:00Z")])
        assert appended.verdicts == (Verdict.EXPIRED, Verdict.EXPIRED)
    assert partitions(store) == before


def test_older_events_are_expired_from_then_on(store: LogStore) -> None:
    """A writer that knew the store before the purge stores nothing older any more, and all that is newer."""
    writer = LogStore(store.database)
    writer.append([event("done", OLD)])
    purge(store, CUTOFF)
    late = event("done", "2026-01-11T00:00:00Z")
    assert writer.append([late, event("new", NEW)]).verdicts == (Verdict.EXPIRED, Verdict.STORED)
    assert ids(store, "ol_event") == ids(store, "ol_run") == {"new"}
    assert purge(store, CUTOFF).rows == 0


def test_jobs_that_share_a_run_id_have_datasets_of_their_own(store: LogStore) -> None:
    """Those of the one that is over go, those of the other stay."""
    store.append([event("shared", OLD, job="one"), event("shared", NEW, job="two"), event("other", OLD)])
    purge(store, CUTOFF)
    for table in ("ol_run", "ol_run_dataset"):
        assert rows(store, table, "run_id, job_name") == {("shared", "two")}
    purge(store, datetime(2026, 5, 1, tzinfo=UTC))
    assert not rows(store, "ol_run") and not rows(store, "ol_run_dataset")


def test_times_outside_of_the_months(store: LogStore) -> None:
    """Events of absurd times lie in catch-all partitions, which are emptied and kept, and which purge by time too."""
    store.append([event("ancient", "0001-01-01T00:00:00Z"), event("far", "9999-12-31T23:59:59.999999Z")])
    purged = purge(store, CUTOFF)
    assert (purged.events, purged.runs, purged.partitions) == (1, 1, ())
    assert ids(store, "ol_event") == ids(store, "ol_run") == {"far"}
    assert store.append([event("again", "2150-01-01T00:00:00Z")]).stored == 1


@pytest.mark.long
@settings(max_examples=EXAMPLES // 2)
@given(
    items=st.lists(
        st.tuples(trees, st.integers(1, 12)).map(
            lambda pair: (
                {**pair[0], "eventTime": f"2026-02-{27 + pair[1] // 7}T{pair[1] % 7 * 3:02}:30:00Z"}
                if pair[1] // 7 < 2
                else pair[0]
            )
        ),
        min_size=1,
        max_size=16,
    ),
    day=st.sampled_from([(2, 27, 7), (2, 28, 0), (2, 28, 4), (3, 1, 0)]),
    batch=st.integers(1, 4),
)
def test_the_statements_delete_the_same(
    store: LogStore, items: list[dict[str, Any]], day: tuple[int, int, int], batch: int
) -> None:
    """The purge statements of the schema, run one after the other, leave the same events and digest rows."""
    twin = LogStore(Database(store.engine, "twin"))
    twin.create()
    empty(store, twin)
    events = [parse(json.dumps(tree).encode()) for tree in items]
    cutoff = datetime(2026, *day, tzinfo=UTC)
    for each in (store, twin):
        assert each.append(events).dead == 0
    would = count_purgeable(store, cutoff)
    assert counts(purge(store, cutoff, batch=batch)) == counts(would)
    with twin.engine.connect() as connection:
        driver = connection.connection.driver_connection
        for statement in twin.schema.purge():
            driver.execute(sql(statement), {"cutoff": cutoff})
        driver.commit()
    for table in TABLES[1:5]:
        assert rows(store, table) == rows(twin, table)
    assert rows(store, "ol_event", "run_id, event_hash") == rows(twin, "ol_event", "run_id, event_hash")
    assert differences(store) == differences(twin) == []


def test_one_purger_at_a_time(store: LogStore) -> None:
    """A second purge of the same store is refused in one line; another store's is not; afterwards it may run."""
    other = LogStore(Database(store.engine, "other"))
    other.create()
    store.append([event("done", OLD)])
    seen = []

    def meanwhile(*_: Any) -> None:
        if not seen:
            with pytest.raises(StoreError, match="another purge is at work on the store 'a store'"):
                purge(store, CUTOFF)
            seen.append(purge(other, CUTOFF).rows)

    purge(store, CUTOFF, progress=meanwhile)
    assert seen == [0]
    assert purge(store, CUTOFF).rows == 0


def test_cut_offs_that_cannot_be_meant(store: LogStore) -> None:
    """A cut-off in the future would shut out all events until then; one without a zone is ambiguous."""
    with pytest.raises(StoreError, match="lies in the future"):
        purge(store, datetime.now(UTC) + timedelta(days=1))
    with pytest.raises(StoreError, match="no time zone"):
        purge(store, datetime(2026, 1, 1))  # noqa: DTZ001
    assert rows(store, "ol_store", "retention_floor") == {(None,)}


def test_a_month_in_use_is_deleted_row_by_row(store: LogStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that holds a month for long neither stops the purge nor makes writers wait; the month goes later."""
    monkeypatch.setattr(sys.modules["lineagelog.store.upkeep.purge"], "ATTEMPTS", 2)  # store.purge is the function
    store.append([event(f"run{n}", OLD) for n in range(5)])
    with store.engine.connect() as reader:
        reader.execute(text(f"SELECT count(*) FROM {store.schema.table('ol_event')}"))
        purged = purge(store, CUTOFF, batch=2)
        assert (purged.events, purged.partitions) == (5, ())
    again = purge(store, CUTOFF)
    assert (again.rows, again.partitions) == (0, ("ol_event_y2026m01",))


def test_a_writer_that_knew_a_deleted_schema_sends_it_again(store: LogStore) -> None:
    """Schemas that only purged runs had are deleted, and a writer that had sent one before does so again."""
    writer = LogStore(store.database)
    writer.append([event("done", OLD, schema="s")])
    assert purge(store, CUTOFF).schema_versions == 1
    assert not rows(store, "ol_schema_version")
    writer.append([event("new", NEW, schema="s")])
    assert differences(store) == []
    assert len(rows(store, "ol_schema_version")) == 1


def test_a_schema_sent_during_the_purge_stays(store: LogStore) -> None:
    """A schema that a writer has sent since the floor moved may be one it counts on: it outlives this purge.

    The writer sends it while the purge is at work and lets go of it at once; nothing refers to it when the purge
    looks. Then the writer, who remembers it as stored, refers to it again.
    """
    writer = LogStore(store.database)
    store.append([event("done", OLD, schema="s"), event("done", OLD, job="b", schema="only old")])
    seen: list[str] = []

    def meanwhile(table: str, _: int) -> None:
        if table == "ol_run" and not seen:
            seen.append(table)
            writer.append([event("new", NEW, schema="s")])
            writer.append([event("new", "2026-04-15T00:00:00Z", schema="other")])

    purged = purge(store, CUTOFF, progress=meanwhile)
    assert seen and purged.schema_versions == 1
    writer.append([event("newer", NEW, schema="s")])
    assert differences(store) == []
    assert len(rows(store, "ol_schema_version")) == 2


def test_a_new_event_keeps_its_run(store: LogStore, store_url: str) -> None:
    """A run that gets a new event while the purge waits for its row stays, with all its datasets."""
    store.append([event("slow", OLD, schema="s"), event("done", OLD)])
    with connect(store_url) as writer:
        table = store.schema.table("ol_run")
        writer.execute(f"UPDATE {table} SET last_event_time = %s WHERE run_id = 'slow'", (NEW,))
        purger = threading.Thread(target=purge, args=(store, CUTOFF))
        purger.start()
        purger.join(0.3)
        assert purger.is_alive()
        writer.commit()
    purger.join(PATIENCE)
    assert ids(store, "ol_run") == ids(store, "ol_run_dataset") == {"slow"}
    assert len(rows(store, "ol_run_dataset")) == 2


def test_purging_while_two_writers_append(store: LogStore) -> None:
    """Two writers go on, with old and new events, known schemas and shared runs; nothing is lost and all verifies."""
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    old = [event(f"old{n}", (begin + timedelta(hours=n)).isoformat(), schema=f"s{n % 7}") for n in range(1500)]
    store.append(old)
    kept: list[list[Event]] = [[], []]
    failures: list[BaseException] = []
    stop = threading.Event()

    def write(number: int) -> None:
        writer = LogStore(store.database)
        try:
            for step in range(10_000):
                if stop.is_set() and step > 20:
                    return
                time = (datetime(2026, 4, 1, tzinfo=UTC) + timedelta(seconds=step)).isoformat()
                names = (f"old{step * 7 % 1500}", f"new{step}")
                batch = [event(run, time, job=f"w{number}", schema=f"s{step % 7}") for run in names]
                late = event(f"late{step}", (begin + timedelta(minutes=step)).isoformat())
                verdicts = writer.append([*batch, late]).verdicts
                assert verdicts[:2] == (Verdict.STORED, Verdict.STORED)
                kept[number] += batch
        except BaseException as error:
            failures.append(error)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(2)]
    for thread in writers:
        thread.start()
    purge(store, CUTOFF, batch=100)
    stop.set()
    for thread in writers:
        thread.join(PATIENCE)
    assert failures == []
    assert all(len(items) > 20 for items in kept)
    hashes = {row[0] for row in rows(store, "ol_event", "event_hash")}
    assert hashes == {item.event_hash for items in kept for item in items}
    assert differences(store) == []
    assert count_purgeable(store, CUTOFF).rows == 0


# --- a purge that is stopped ------------------------------------------------------------------------------------------


class _StoppedError(Exception):
    pass


class Stop:
    """Ends a purge after so many of its transactions, as a kill would: what is committed stays."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, after: int | None) -> None:
        self.steps = 0
        module = sys.modules["lineagelog.store.upkeep.purge"]  # store.purge is the function
        patiently = module.patiently

        def stopping(*arguments: Any, **more: Any) -> Any:
            if self.steps == after:
                raise _StoppedError
            result = patiently(*arguments, **more)
            self.steps += 1
            return result

        monkeypatch.setattr(module, "patiently", stopping)


STEPS = 34
"""Transactions of the purge of `filled`, by `test_all_steps_are_stopped_after`."""


def filled(*stores: LogStore) -> None:
    """Runs of all kinds: over, going on across the cut-off, sharing a run id, with contents that only they have."""
    events = [event(f"over-{n}", f"2026-0{n % 2 + 1}-1{n}T00:00:00Z", schema=f"only {n}") for n in range(5)]
    events += [event(f"edge-{n}", "2026-03-15T23:00:00Z", "START", schema="both") for n in range(3)]
    events += [event(f"edge-{n}", "2026-03-16T01:00:00Z", schema="both") for n in range(3)]
    events += [event("long", "2026-02-01T00:00:00Z", "START", schema="old form"), event("long", NEW, schema="form")]
    events += [event("shared", OLD, job="one", schema="one"), event("shared", NEW, job="two", schema="two")]
    events += [event("new", NEW, schema="only new"), event("ancient", "0100-01-01T00:00:00Z")]
    for each in stores:
        assert each.append(events).stored == len(events)


def everything(store: LogStore) -> dict[str, set[Any]]:
    """The rows that the purge leaves, by table."""
    keys = {"ol_event": "event_hash", "ol_schema_version": "schema_hash", "ol_lineage_version": "lineage_hash"}
    return {table: rows(store, table, keys.get(table, "t::text")) for table in TABLES}


def test_all_steps_are_stopped_after(store: LogStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests below go through the whole of it."""
    filled(store)
    stop = Stop(monkeypatch, after=None)
    purge(store, CUTOFF, batch=2)
    assert stop.steps == STEPS


@pytest.mark.long
@pytest.mark.parametrize("after", range(STEPS))
def test_a_purge_that_is_stopped(store: LogStore, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """At every point verify finds nothing and rebuild changes nothing, also with new events; the next purge ends it."""
    whole = LogStore(Database(store.engine))
    filled(store, whole)
    purge(whole, CUTOFF, batch=2)
    with monkeypatch.context() as patch, pytest.raises(_StoppedError):
        Stop(patch, after)
        purge(store, CUTOFF, batch=2)
    left = everything(store)
    assert differences(store) == []
    assert list(Verifier(store).rebuild()) == []
    assert everything(store) == left
    late = [event("long", NEW, "RUNNING"), event("later", NEW, schema="only 1"), event("new", NEW, job="b")]
    for each in (store, whole):
        assert each.append(late).stored == len(late)
    assert differences(store) == []
    would = count_purgeable(store, CUTOFF)
    assert counts(purge(store, CUTOFF, batch=2)) == counts(would)
    assert everything(store) == everything(whole)
    assert differences(store) == []
    assert purge(store, CUTOFF).rows == 0


def test_a_stopped_purge_is_ended_by_one_with_an_older_cut_off(
    store: LogStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies before the floor is half gone already: it goes as a whole."""
    whole = LogStore(Database(store.engine))
    filled(store, whole)
    purge(whole, CUTOFF)
    with monkeypatch.context() as patch, pytest.raises(_StoppedError):
        Stop(patch, 4)
        purge(store, CUTOFF, batch=2)
    assert purge(store, CUTOFF - timedelta(days=60)).cutoff == CUTOFF
    assert everything(store) == everything(whole)


def test_rebuild_brings_back_nothing_that_is_half_gone(store: LogStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged digest is mended beside an unfinished purge; assertions before the floor do not rise again."""
    filled(store)
    with monkeypatch.context() as patch, pytest.raises(_StoppedError):
        Stop(patch, 2)
        purge(store, CUTOFF, batch=2)
    with store.engine.begin() as connection:
        for table in ("ol_assertion", "ol_run_dataset"):
            connection.execute(text(f"DELETE FROM {store.schema.table(table)}"))
    assert len(list(Verifier(store).rebuild())) > 0
    assert differences(store) == []
    assert {row[0] >= CUTOFF for row in rows(store, "ol_assertion", "event_time")} == {True}


def test_no_partition_is_made_of_a_month_that_is_purged_meanwhile(
    store: LogStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The floor rises after a writer has looked and before it makes the month: no empty month is left behind."""
    make = Partitions.make

    def late(self: Partitions, connection: Any, months: set[tuple[int, int]]) -> None:
        if (2026, 1) in months:
            purge(LogStore(store.database), CUTOFF)
        make(self, connection, months)

    monkeypatch.setattr(Partitions, "make", late)
    appended = store.append([event("old", OLD), event("new", NEW)])
    assert appended.verdicts == (Verdict.EXPIRED, Verdict.STORED)
    with store.engine.connect() as connection:
        leaves = connection.execute(
            text("SELECT relname FROM pg_class WHERE relname ~ '^ol_event_y' AND relkind = 'r'")
        )
        assert leaves.scalars().all() == ["ol_event_y2026m04"]
