"""Findings in the store: opened, going on, closed, reopened; acknowledged and muted; by several recorders at once."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from lineagelog.analysis import Severity, Subject, analysis_named
from lineagelog.findings import Recorder
from lineagelog.store.ledgers.episodes import FindingStatus
from lineagelog.store.ledgers.finding_rows import FindingFilter, FindingRows
from lineagelog.store.ledgers.findings import AskedQuestion, Findings, Recorded
from tests.analysis.support import day, load, run, window
from tests.findings.support import ASKED, finding, kept, record, statuses
from tests.support import EXAMPLES, join

if TYPE_CHECKING:
    from lineagelog.store import LogStore


def test_the_life_of_a_finding(store: LogStore) -> None:
    """Opened; seen again, worse; closed by a run that covers it; reopened, with the same id."""
    assert record(store, 0, 3, finding("a", 1), finding("b", 2)) == Recorded(2, 0, 0, 2)
    opened = kept(store)["a"]
    worse = finding("a", 3, first=1, severity=Severity.HIGH, observed="odder")
    assert record(store, 0, 4, worse, finding("b", 2)) == Recorded(0, 0, 0, 2)
    again = kept(store)["a"]
    assert (again.finding_id, again.severity, again.content["observed"]) == (opened.finding_id, "high", "odder")
    assert (again.first_seen, again.last_seen) == (day(1), day(3))
    assert record(store, 0, 5, finding("b", 2)) == Recorded(0, 0, 1, 1)
    closed = kept(store)["a"]
    assert (closed.status, closed.closed_at is not None, closed.reopened) == (FindingStatus.CLOSED, True, 0)
    assert record(store, 0, 6, finding("a", 5), finding("b", 2)) == Recorded(0, 1, 0, 2)
    back = kept(store)["a"]
    assert (back.finding_id, back.status, back.reopened) == (opened.finding_id, FindingStatus.OPEN, 1)
    assert back.reopened_at is not None
    assert back.closed_at is None
    assert back.opened_at == opened.opened_at
    assert back.document["status"] == "OPEN"
    assert back.document["last_seen"] == day(5)


def test_who_closes_and_who_does_not(store: LogStore) -> None:
    """Not another analysis, other parameters, an older window, one from before, or one in which its job did nothing."""
    record(store, 0, 3, finding("a", 2))
    record(store, 0, 9, asked=AskedQuestion("another", {}))
    record(store, 0, 9, asked=AskedQuestion("made_up", {"history": "60 days"}))
    record(store, 0, 2)
    record(store, 0, 2.5)
    record(store, 5, 9)
    assert statuses(store) == {"a": "OPEN"}
    load(store, run("b", day(6), [], []))
    record(store, 5, 9)
    assert statuses(store) == {"a": "OPEN"}
    load(store, run("a", day(6), [], []))
    assert record(store, 5, 9).closed == 1
    assert statuses(store) == {"a": "CLOSED"}


def test_a_dataset_is_active_under_each_of_its_names(store: LogStore) -> None:
    """A finding about a table is left behind when it is written again, by a symlink's name too; a producer's always."""
    table = {"namespace": "hive://meta", "name": "shop.orders", "facets": {}}
    link = {
        "namespace": "s3://lake",
        "name": "shop/orders",
        "facets": {"symlinks": {"identifiers": [{"namespace": "hive://meta", "name": "shop.orders", "type": "TABLE"}]}},
    }
    about = Subject("dataset", "hive://meta", "shop.orders")
    load(store, run("a", day(1), [], [table]))
    record(store, 0, 3, finding("x", 2, subject=about), finding("p", 2, subject=Subject("producer", None, "p")))
    record(store, 5, 9)
    assert statuses(store) == {"shop.orders": "OPEN", "p": "CLOSED"}
    load(store, run("a", day(6), [], [link]))
    record(store, 5, 9)
    assert statuses(store)["shop.orders"] == "CLOSED"


def test_a_window_of_the_future_is_no_authority(store: LogStore) -> None:
    """A run up to 2099 says what is known now: the next one may say otherwise."""
    seen = (datetime.now(UTC) - timedelta(hours=1) - day(0)).total_seconds() / 86400
    record(store, 0, 36_500, finding("a", seen))
    record(store, 0, 36_500)
    assert statuses(store) == {"a": "CLOSED"}


def test_what_people_say(store: LogStore) -> None:
    """Acknowledged it stays open, muted it is suppressed until a time; who came back is acknowledged by nobody."""
    record(store, 0, 3, finding("a", 2), finding("b", 2))
    findings, rows = Findings(store.database), kept(store)
    a, b = rows["a"].finding_id, rows["b"].finding_id
    assert findings.acknowledge(a, by="ada", why="is being repaired")
    assert findings.mute(b, by="ben", until=datetime.now(UTC) + timedelta(days=1), why="known")
    assert not findings.mute(finding("c", 0).finding_id, by="ben")
    rows = kept(store)
    assert (rows["a"].status, rows["a"].acknowledged_by, rows["a"].acknowledged_why) == (
        FindingStatus.OPEN,
        "ada",
        "is being repaired",
    )
    assert (rows["b"].status, rows["b"].muted_by) == (FindingStatus.SUPPRESSED, "ben")
    record(store, 0, 4, finding("a", 3), finding("b", 3))
    assert kept(store)["a"].acknowledged_by == "ada"
    assert statuses(store) == {"a": "OPEN", "b": "SUPPRESSED"}
    record(store, 0, 5)
    assert statuses(store) == {"a": "CLOSED", "b": "CLOSED"}
    record(store, 0, 6, finding("a", 5), finding("b", 5))
    assert kept(store)["a"].acknowledged_by is None
    assert statuses(store) == {"a": "OPEN", "b": "SUPPRESSED"}
    assert findings.unmute(b)
    assert statuses(store)["b"] == "OPEN"


def test_a_mute_ends_by_itself(store: LogStore) -> None:
    """From then on it is open again."""
    record(store, 0, 3, finding("a", 2))
    Findings(store.database).mute(kept(store)["a"].finding_id, by="ben", until=datetime.now(UTC) + timedelta(days=1))
    with store.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE openlineage.ol_finding SET muted_until = now() - interval '1 second'")
    assert statuses(store) == {"a": "OPEN"}


def test_lists_by_everything(store: LogStore) -> None:
    """Status, severity and above, analysis, subject, namespace, when it was seen; page by page, either way."""
    bad = finding("b", 3, severity=Severity.CRITICAL)
    dataset = finding("c", 4, subject=Subject("dataset", None, "c"))
    record(store, 0, 5, finding("a", 2), bad, dataset)
    Findings(store.database).mute(bad.finding_id, by="ben")
    rows = FindingRows(store.database)

    def names(*, reverse: bool = False, **wanted: object) -> list[str]:
        found = rows.page(FindingFilter(**wanted), None, 10, reverse=reverse)  # type: ignore[arg-type]
        return [row.subject.name for _, row in found]

    assert names() == ["a", "b", "c"]
    assert names(reverse=True) == ["c", "b", "a"]
    assert names(statuses=(FindingStatus.OPEN,)) == ["a", "c"]
    assert names(statuses=(FindingStatus.SUPPRESSED,)) == ["b"]
    assert names(severity=Severity.HIGH) == ["b"]
    assert names(analysis="another") == []
    assert names(subject="b") == ["b"]
    assert names(namespace="") == ["c"]
    assert names(since=day(3), until=day(4)) == ["b"]
    assert names(within=frozenset({"tests"})) == ["a", "b"]
    assert rows.get(dataset.finding_id, {"tests"}) is None
    key, first = rows.page(FindingFilter(), None, 1)[0]
    assert first.subject.name == "a"
    assert [row.subject.name for _, row in rows.page(FindingFilter(), key, 9)] == ["b", "c"]
    assert rows.by_severity() == {("made_up", "medium"): 2}


def test_insufficient_is_counted_and_no_row(store: LogStore) -> None:
    """The last recorded run of a question is remembered, with how long it took and what it could not judge."""
    record(store, 0, 3, insufficient=7)
    record(store, 0, 4, insufficient=8)
    record(store, 0, 4, asked=AskedQuestion("made_up", {"runs": "4"}))
    assert kept(store) == {}
    other, last = sorted(Findings(store.database).recordings(), key=lambda each: each.insufficient)
    assert (last.insufficient, last.window_end, last.parameters, last.findings) == (8, day(4), {}, 0)
    assert other.parameters == {"runs": "4"}


def test_two_recorders_at_once(store: LogStore) -> None:
    """Both have seen the same: each finding is opened by one of them, and nothing fails."""
    found = [finding(f"job {number}", 2) for number in range(50)]
    results: list[Recorded] = []

    def work(own: list[object]) -> None:
        for _ in range(5):
            results.append(record(store, 0, 3, *own))  # type: ignore[arg-type]

    threads = [threading.Thread(target=work, args=(own,)) for own in (found, found[::-1], found[10:] + found[:10])]
    for thread in threads:
        thread.start()
    join(*threads)
    assert len(results) == 15
    assert sum(each.opened for each in results) == 50
    assert set(statuses(store).values()) == {"OPEN"}


@settings(max_examples=max(EXAMPLES // 2, 5))
@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(6, 9), st.sets(st.sampled_from("abcd")), st.booleans()), max_size=6
    )
)
def test_recorded_twice_is_recorded_once(store: LogStore, history: list[tuple[int, int, set[str], bool]]) -> None:
    """After each run of any history: recording it once more changes nothing but when it was recorded."""
    with store.engine.begin() as connection:
        connection.exec_driver_sql("TRUNCATE openlineage.ol_finding, openlineage.ol_recording")
    for start, end, names, is_other in history:
        asked = AskedQuestion("made_up", {"runs": "4"}) if is_other else ASKED
        found = [finding(name, start) for name in sorted(names)]
        record(store, start, end, *found, asked=asked)
        before = kept(store)
        repeated = record(store, start, end, *reversed(found), asked=asked)
        assert (repeated.opened, repeated.reopened, repeated.closed) == (0, 0, 0)
        moved = {"recorded_at"}
        assert {name: _told(row, moved) for name, row in kept(store).items()} == {
            name: _told(row, moved) for name, row in before.items()
        }


def _told(row: object, but: set[str]) -> dict[str, object]:
    return {name: getattr(row, name) for name in row.__struct_fields__ if name not in but}  # type: ignore[attr-defined]


def test_an_analysis_is_asked_and_recorded(store: LogStore) -> None:
    """A real one: failures in a row are found, and closed when the job has done well since."""
    bad = [run("a", day(each), [], [], eventType="FAIL") for each in range(10, 16)]
    load(store, *(run("a", day(each), [], []) for each in range(10)), *bad)
    recorder = Recorder(store.database)
    answer, recorded = recorder.record(analysis_named("failure_streak"), window(9, 16))
    assert (len(answer.findings), recorded.opened) == (1, 1)
    load(store, *(run("a", day(each), [], []) for each in range(16, 30)))
    _, recorded = recorder.record(analysis_named("failure_streak"), window(20, 30))
    assert recorded.closed == 1


def test_what_reads_events_reads_them_once(store: LogStore) -> None:
    """The schedule reads what arrived since the last time, whatever its event time; the finding goes on, and is closed
    when a whole window has passed without it."""
    secret = {"namespace": "postgres://db", "name": "t", "facets": {"dataSource": {"uri": "postgres://u:hunter2@h/d"}}}
    credentials, recorder = analysis_named("exposed_credentials"), Recorder(store.database)
    load(store, run("a", day(5), [secret], []))
    answer, recorded = recorder.record_new(credentials, window(3, 7))
    assert (len(answer.findings), recorded.opened) == (1, 1)
    answer, recorded = recorder.record_new(credentials, window(3, 7))
    assert (len(answer.findings), recorded.closed) == (0, 0)
    assert statuses(store) == {"a": "OPEN"}
    load(store, run("late", day(-20), [secret], []))
    answer, recorded = recorder.record_new(credentials, window(3, 8))
    assert [each.subject.name for each in answer.findings] == ["late"]
    load(store, run("a", day(9), [], []))
    assert recorder.record_new(credentials, window(4, 10))[1].closed == 0
    assert recorder.record_new(credentials, window(6, 12))[1].closed == 1
    assert statuses(store) == {"a": "CLOSED", "late": "OPEN"}
