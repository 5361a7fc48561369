"""Cases from public bug reports come out as decided: through the parser into the store and out of its tables.

The inputs lie beside the repository and are skipped where they are absent; the rules they show have small inputs of our
own in the tests of the parts.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import text

from lineagelog.event.model import Reason, Rejected
from lineagelog.event.parse import parse
from lineagelog.intake import split
from lineagelog.store import Database, LogStore, Verdict, Verifier, open_engine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Store(LogStore):
    """A store that answers questions."""

    def rows(self, query: str) -> list[Any]:
        """The rows of a query whose tables are named without schema; single columns as plain values."""
        with self.engine.connect() as connection:
            connection.execute(text(f'SET search_path TO "{self.schema.schema_name}"'))
            found = [tuple(row) for row in connection.execute(text(query))]
        return [row[0] if len(row) == 1 else row for row in found]

    def deliver(self, *bodies: bytes) -> list[Verdict]:
        """Append each on its own."""
        return [self.append([parse(body)]).verdicts[0] for body in bodies]


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    engine = open_engine(store_url, pool_size=2)
    store = Store(Database(engine))
    yield store
    assert list(Verifier(store).verify()) == []
    engine.dispose()


def case(shared_dir: Path, name: str) -> dict[str, Any]:
    (path,) = (shared_dir / "cases").glob(f"{name}-*.json")
    loaded: dict[str, Any] = json.loads(path.read_text())
    return loaded


def bodies(shared_dir: Path, name: str) -> list[bytes]:
    content = case(shared_dir, name)
    if "raw" in content:
        return [body.encode() for body in content["raw"]]
    return [json.dumps(event).encode() for event in content["deliver"]]


def at(clock: str) -> datetime:
    return datetime.fromisoformat(clock).replace(tzinfo=UTC)


def test_01_out_of_order(store: Store, shared_dir: Path) -> None:
    """Every order of START, RUNNING and COMPLETE gives the same finished run."""
    given = bodies(shared_dir, "01")
    for order in permutations(given):
        with store.engine.begin() as connection:
            connection.execute(text("TRUNCATE openlineage.ol_event, openlineage.ol_run, openlineage.ol_run_dataset"))
        store.deliver(*order)
        assert store.rows("SELECT status, start_time, end_time FROM ol_run") == [
            ("COMPLETE", at("2026-03-02T04:00"), at("2026-03-02T04:10"))
        ]
        assert store.rows("SELECT direction, row_count FROM ol_run_dataset ORDER BY 1") == [("I", None), ("O", 4100)]


def test_05_timestamp_spellings(store: Store, shared_dir: Path) -> None:
    """Java's zones, +00:00Z, no zone, nanoseconds and lower case are read exactly; a date only is refused."""
    verdicts = store.deliver(*bodies(shared_dir, "05"))

    assert verdicts == [Verdict.STORED] * 6 + [Verdict.DEAD]
    assert store.rows("SELECT event_time, event_type FROM ol_event ORDER BY event_time") == [
        (at("2026-03-02T08:00:00.120"), "START"),
        (at("2026-03-02T08:02:00.000001"), "COMPLETE"),
        (at("2026-03-02T08:03:00"), "COMPLETE"),
        (at("2026-03-02T08:04:59.999999"), "COMPLETE"),
        (at("2026-03-02T08:05:00"), "COMPLETE"),
        (at("2026-07-02T07:00:05.5"), "COMPLETE"),
    ]
    assert store.rows("SELECT governance_action->>'processName' FROM ol_run WHERE status = 'START'") == [
        "QuayOnboarding"
    ]
    assert store.rows("SELECT notices FROM ol_event WHERE notices IS NOT NULL") == ["time_without_zone at $.eventTime"]
    assert store.rows("SELECT reason, json_path FROM ol_dead_letter") == [("bad_time", "$.eventTime")]


def test_06_long_incompressible_names(store: Store, shared_dir: Path) -> None:
    """Names far beyond what an index holds are stored exactly, kept apart, and found again by a redelivery."""
    (body,) = bodies(shared_dir, "06")
    sent = json.loads(body)
    assert store.deliver(body, body) == [Verdict.STORED, Verdict.DUPLICATE]

    names = sorted(dataset["name"] for side in ("inputs", "outputs") for dataset in sent[side])
    assert store.rows("SELECT dataset_name FROM ol_run_dataset ORDER BY 1") == names
    assert store.rows("SELECT job_name FROM ol_run") == [sent["job"]["name"]]


def test_06_names_over_the_limit_are_dead_letters(store: Store, shared_dir: Path) -> None:
    """A name over 64 KiB is refused with its place."""
    (body,) = bodies(shared_dir, "06")
    sent = json.loads(body)
    sent["outputs"] = [{"namespace": "n", "name": "x" * 65_537}]
    assert store.deliver(json.dumps(sent).encode()) == [Verdict.DEAD]
    assert store.rows("SELECT reason, json_path FROM ol_dead_letter") == [("too_long", "$.outputs[0].name")]


def test_07_nul_and_lone_surrogates(store: Store, shared_dir: Path) -> None:
    """What PostgreSQL's text refuses is replaced, marked, and kept in the exact bytes."""
    given = bodies(shared_dir, "07")
    assert set(store.deliver(*given)) == {Verdict.STORED}
    assert store.deliver(given[0]) == [Verdict.DUPLICATE]

    messages = dict(store.rows("SELECT run_id, error_message FROM ol_run"))
    by_run = {json.loads(body)["run"]["runId"]: body for body in given}
    texts = [messages[run_id] for run_id in by_run]
    assert texts[0] == "read \ufffd bytes"
    assert texts[2] == "half \ufffd emoji"
    assert texts[3] == "wrong order \ufffd\ufffd"
    assert texts[4] == "literal backslash: C:\\u0000dir"
    assert "\U0001f600" in texts[5] or texts[5].isprintable()
    assert store.rows(
        "SELECT dataset_name FROM ol_run_dataset WHERE dataset_name LIKE 'tide_gauge' AND dataset_name <> 'tide.gauge'"
    ) == ["tide\ufffdgauge"]
    kept = dict(store.rows("SELECT run_id, raw FROM ol_event WHERE raw IS NOT NULL"))
    assert kept == dict(list(by_run.items())[:4])


def test_10_redelivery(store: Store, shared_dir: Path) -> None:
    """The same content is stored once whatever its spelling; an empty facet more changes no derived row."""
    verdicts = store.deliver(*bodies(shared_dir, "10"))

    assert verdicts == [Verdict.STORED, Verdict.DUPLICATE, Verdict.DUPLICATE, Verdict.STORED]
    assert store.rows("SELECT count(*) FROM ol_run") == [1]
    assert store.rows("SELECT direction, count(*) FROM ol_run_dataset GROUP BY 1 ORDER BY 1") == [("I", 1), ("O", 1)]
    before = store.rows("SELECT count(*) FROM ol_assertion")
    store.deliver(*bodies(shared_dir, "10"))
    assert store.rows("SELECT count(*) FROM ol_assertion") == before


def test_13_statistics_of_every_size(store: Store, shared_dir: Path) -> None:
    """Counts keep their value; what is no count is unknown; a number that JSON forbids is refused."""
    given = bodies(shared_dir, "13")
    runs = [body.split(b'"runId": "')[1][:36].decode() for body in given]
    verdicts = store.deliver(*given)

    assert verdicts == [Verdict.STORED] * 7 + [Verdict.DEAD] * 2
    found = {
        row[0]: row[1:] for row in store.rows("SELECT run_id, row_count, size_bytes, file_count FROM ol_run_dataset")
    }
    assert [found[run] for run in runs[:7]] == [
        (3263939118, 5000000000, 2147483648),
        (12, None, None),
        (None, 7, None),
        (4, 1500, None),
        (812, None, None),
        (None, None, None),
        (None, 77, None),
    ]
    assert store.rows(
        f"SELECT event #>> '{{outputs,0,outputFacets,outputStatistics,size}}' FROM ol_event WHERE run_id = '{runs[1]}'"
    ) == ["9223372036854775807"]
    assert store.rows("SELECT reason FROM ol_dead_letter ORDER BY id") == ["not_json", "number_out_of_range"]


def test_16_null_and_partial_facets(store: Store, shared_dir: Path) -> None:
    """Nulls at every level mean "not carried"; a deletion clears; a nameless assertion is passed over."""
    assert set(store.deliver(*bodies(shared_dir, "16"))) == {Verdict.STORED}

    assert store.rows("SELECT status FROM ol_run") == ["COMPLETE"] * 3
    statistics = "row_count, size_bytes, lifecycle_state_change"
    assert store.rows(
        f"SELECT direction, {statistics} FROM ol_run_dataset WHERE dataset_namespace LIKE 'trino%' ORDER BY 1"
    ) == [("I", None, None, None), ("O", None, None, None)]
    assert store.rows("SELECT assertion, success FROM ol_assertion ORDER BY 1") == [
        ("not_null", None),
        ("unique", None),
    ]
    assert store.rows("SELECT event->'harbourMaster'->>'pilot' FROM ol_event ORDER BY event_time LIMIT 1") == ["true"]


def test_18_batch_with_bad_members(store: Store, shared_dir: Path) -> None:
    """Bad members of a batch are refused one by one; the others are stored, a repeated one once."""
    framed = split(json.dumps(case(shared_dir, "18")["batch"]).encode())
    items = [parse(body) for body in framed.events]
    appended = store.append(items)

    stored, dead = Verdict.STORED, Verdict.DEAD
    assert appended.verdicts == (stored, dead, stored, dead, stored, stored, dead, stored, Verdict.DUPLICATE)
    reasons = [item.reason for item in items if isinstance(item, Rejected)]
    assert reasons == [Reason.NOT_AN_EVENT, Reason.BAD_TIME, Reason.NOT_AN_EVENT]
    assert store.rows("SELECT count(*) FROM ol_run_dataset") == [0]
    assert store.rows("SELECT notices FROM ol_event WHERE notices IS NOT NULL") == [
        "dataset_without_namespace at $.inputs[0].namespace"
    ]


def test_21_failing_tests_inside_complete(store: Store, shared_dir: Path) -> None:
    """Tests and assertions are found wherever they stand, with their severity; the run's status stays as sent."""
    assert set(store.deliver(*bodies(shared_dir, "21"))) == {Verdict.STORED}

    assert set(store.rows("SELECT status FROM ol_run")) == {"COMPLETE"}
    failing = (
        "SELECT job_name, severity FROM ol_assertion WHERE success = false AND job_name IN ('checks.a', 'checks.b')"
    )
    assert store.rows(f"{failing} ORDER BY 1") == [("checks.a", "error"), ("checks.b", "warn")]
    assert len(store.rows("SELECT 1 FROM ol_assertion WHERE job_name = 'checks.d'")) >= 2
    assert store.rows("SELECT test_name, status FROM ol_test ORDER BY 1, 2") == [
        ("quay_totals_match", "fail"),
        ("quay_totals_match", "pass"),
        ("skipped_one", "skip"),
    ]


def test_31_deleted_facets(store: Store, shared_dir: Path) -> None:
    """What COMPLETE takes back is unknown again, whichever of the two comes first."""
    for order in permutations(bodies(shared_dir, "31")):
        with store.engine.begin() as connection:
            connection.execute(text("TRUNCATE openlineage.ol_event, openlineage.ol_run, openlineage.ol_run_dataset"))
        store.deliver(*order)
        assert store.rows("SELECT processing_type, integration, job_type FROM ol_run") == [(None, None, None)]
        assert store.rows("SELECT schema_hash, lineage_hash FROM ol_run_dataset") == [(None, None)]


def test_37_nominal_times(store: Store, shared_dir: Path) -> None:
    """Read by the rules of eventTime: what has no time or zone is told, what is no time is left out and told."""
    store.deliver(*bodies(shared_dir, "37"))
    day, next_day = at("2026-05-20T00:00"), at("2026-05-21T00:00")
    assert store.rows("SELECT nominal_start_time, nominal_end_time FROM ol_run ORDER BY job_name") == [
        (day, next_day),
        (day, next_day),
        (None, None),
        (None, next_day),
        (next_day, day),
        (day, None),
    ]
    facet = "$.run.facets.nominalTime"
    told = store.rows("SELECT notices FROM ol_event WHERE notices IS NOT NULL ORDER BY event_time")
    assert [notices.count(facet) for notices in told] == [2, 2, 1, 1]


def test_39_documents_one_after_the_other(store: Store, shared_dir: Path) -> None:
    """Pretty-printed, and with no white space between them: two events each."""
    for body in bodies(shared_dir, "39"):
        found = split(body).events
        assert len(found) == 2
        store.deliver(*found)
    assert store.rows("SELECT count(*) FROM ol_event") == [4]


def test_53_failed_then_complete(store: Store, shared_dir: Path) -> None:
    """The status stays as the source document has it; the outcome is what came of the run, in either order."""
    given = bodies(shared_dir, "53")
    for order in (given, given[::-1]):
        with store.engine.begin() as connection:
            connection.execute(text("TRUNCATE openlineage.ol_event, openlineage.ol_run, openlineage.ol_run_dataset"))
        store.deliver(*order)
        assert store.rows("SELECT job_name, status, outcome FROM ol_run ORDER BY 1") == [
            ("cleared", "COMPLETE", "COMPLETE"),
            ("late", "COMPLETE", "FAIL"),
            ("write_lamp", "COMPLETE", "FAIL"),
        ]
        failed = "SELECT end_time, error_message FROM ol_run WHERE job_name = 'write_lamp'"
        assert store.rows(failed) == [(at("2026-06-01T04:09:54.671"), "Task failed while writing rows")]


def test_54_results_in_start_and_end(store: Store, shared_dir: Path) -> None:
    """Each report is kept; a result is the last one, once."""
    store.deliver(*bodies(shared_dir, "54"))
    name = "CASE kind WHEN 'test' THEN name ELSE type END"
    results = f"SELECT kind, {name}, status, severity FROM ol_result('-infinity', 'infinity') ORDER BY 1, 2"
    assert store.rows(results) == [
        ("assertion", "accepted_values", "fail", "warn"),
        ("assertion", "not_null", "pass", None),
        ("assertion", "unique", "fail", None),
        ("test", "not_null_keeper", "pass", None),
        ("test", "unique_lamp_id", "fail", "error"),
    ]
    warned = "SELECT expected, actual FROM ol_assertion WHERE severity = 'warn' GROUP BY 1, 2"
    assert store.rows(warned) == [("0", "3")]
    assert store.rows("SELECT count(*) FROM ol_test") == [4]


def test_corpus_loads_without_loss(store: Store, shared_dir: Path) -> None:
    """All 739 events of real producers are stored, or refused for a reason that is theirs."""
    events = []
    for path in sorted((shared_dir / "corpus").rglob("*.json")):
        content = json.loads(path.read_text())
        events += content if isinstance(content, list) else [content]
    appended = store.append([parse(json.dumps(event).encode()) for event in events])

    assert len(appended.verdicts) == 739
    assert (appended.stored, appended.duplicate, appended.dead) == (711, 0, 28)
    assert store.rows("SELECT reason, json_path, sum(count)::int FROM ol_dead_letter GROUP BY 1, 2 ORDER BY 3") == [
        ("bad_time", "$.eventTime", 1),
        ("missing_field", "$.eventTime", 3),
        ("missing_field", "$.run.runId", 24),
    ]
