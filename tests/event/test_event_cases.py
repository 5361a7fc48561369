"""The cases of public bug reports and the events of real producers, where the shared folder is there.

The same behaviour is tested on small inputs of our own in the other modules of this folder.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from lineagelog.event import Event, Reason, Rejected, parse

from .event_samples import accepted, notices, refused, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def case(shared_dir: Path, number: str) -> dict[str, Any]:
    """One case file."""
    (path,) = (shared_dir / "cases").glob(f"{number}-*.json")
    content: dict[str, Any] = json.loads(path.read_bytes())
    return content


def test_case_05_timestamp_spellings(shared_dir: Path) -> None:
    """Java's zone ids, +00:00Z, no zone, nanoseconds, lower case; a date only is refused."""
    events = case(shared_dir, "05")["deliver"]
    times = [accepted(event).event_time for event in events[:6]]
    assert times == [
        datetime(2026, 3, 2, 8, 0, 0, 120_000, UTC),
        datetime(2026, 7, 2, 7, 0, 5, 500_000, UTC),
        datetime(2026, 3, 2, 8, 2, 0, 1, UTC),
        datetime(2026, 3, 2, 8, 3, tzinfo=UTC),
        datetime(2026, 3, 2, 8, 4, 59, 999_999, UTC),
        datetime(2026, 3, 2, 8, 5, tzinfo=UTC),
    ]
    first = accepted(events[0])
    assert first.run is not None
    assert b"QuaySurveyEngine" in (first.run.governance_action or b"")
    assert [notices(accepted(event)) for event in events[:6]] == [
        [], [], [], ["time_without_zone at $.eventTime"], [], [],
    ]  # fmt: skip
    assert accepted(events[5]).event_type == "COMPLETE"
    assert refused(events[6]).reason == Reason.BAD_TIME


def test_case_06_long_names(shared_dir: Path) -> None:
    """Exact names; over 64 KiB refused (tested on our own input)."""
    for sent in case(shared_dir, "06")["deliver"]:
        event = accepted(sent)
        assert event.job_name == sent["job"]["name"]
        names = [entry["name"] for side in ("inputs", "outputs") for entry in sent.get(side, ())]
        assert [dataset.name for dataset in event.datasets] == names


def test_case_07_nul_and_lone_surrogates(shared_dir: Path) -> None:
    """a to d repaired with the bytes kept, e and f unchanged."""
    texts = [text.encode() for text in case(shared_dir, "07")["raw"]]
    events = [accepted(text) for text in texts]
    assert [event.raw for event in events] == [*texts[:4], None, None]
    assert [notices(event) for event in events] == [["repaired_text at $"]] * 4 + [[], []]
    messages = [event.run.error_message for event in events if event.run]
    assert messages == [
        "read \ufffd bytes", "ok", "half \ufffd emoji", "wrong order \ufffd\ufffd",
        "literal backslash: C:\\u0000dir", "good pair \U0001f600",
    ]  # fmt: skip
    assert events[1].datasets[0].name == "tide\ufffdgauge"
    assert accepted(texts[0]).key == events[0].key


def test_case_10_redelivery(shared_dir: Path) -> None:
    """x, x and y are one event; z says the same in other words."""
    x, again, y, z = (accepted(event) for event in case(shared_dir, "10")["deliver"])
    assert x.key == again.key == y.key != z.key
    assert (x.datasets, x.run) == (z.datasets, z.run)


def test_case_13_statistics_of_every_size(shared_dir: Path) -> None:
    """a to g are stored with what could be read; h and i are refused."""
    texts = [text.encode() for text in case(shared_dir, "13")["raw"]]
    found = []
    for text in texts[:7]:
        (dataset,) = accepted(text).datasets
        found.append((dataset.row_count, dataset.size_bytes))
    assert found == [
        (3263939118, 5000000000), (12, None), (None, 7), (4, 1500), (812, None), (None, None), (None, 77),
    ]  # fmt: skip
    assert accepted(texts[0]).datasets[0].file_count == 2147483648
    place = "outputFacets.outputStatistics.rowCount"
    assert notices(accepted(texts[2])) == [f"not_a_count at $.outputs[0].{place}"]
    assert [refused(text).reason for text in texts[7:]] == [Reason.NOT_JSON, Reason.NUMBER_OUT_OF_RANGE]
    assert all(refused(text).path == f"$.outputs[0].{place}" for text in texts[7:])


def test_case_16_null_and_partial_facets(shared_dir: Path) -> None:
    """All three stored; what is missing is missing, what is deleted is deleted."""
    first, second, third = (accepted(event) for event in case(shared_dir, "16")["deliver"])
    assert [(d.direction, d.row_count, d.size_bytes, d.schema, d.lineage) for d in first.datasets] == [
        ("I", None, None, None, None),
        ("O", None, None, None, None),
    ]
    assert first.datasets[1].deleted == {"lifecycle_state_change"}
    assert second.datasets == ()
    assert [(a.assertion, a.column_name, a.success) for a in third.assertions] == [
        ("not_null", None, None),
        ("unique", "id", None),
    ]
    assert [notice.code for notice in third.notices] == ["assertion_without_name"]


def test_case_18_bad_members(shared_dir: Path) -> None:
    """1, 3 and 6 are refused with a reason, 4 loses one dataset, 7 has a run id that is no UUID, 8 is 0 again."""
    outcomes = [parse(text_of(member)) for member in case(shared_dir, "18")["batch"]]
    refusals = {index: outcome.reason for index, outcome in enumerate(outcomes) if isinstance(outcome, Rejected)}
    assert refusals == {1: Reason.NOT_AN_EVENT, 3: Reason.BAD_TIME, 6: Reason.NOT_AN_EVENT}
    events = [outcome for outcome in outcomes if isinstance(outcome, Event)]
    first, *_, orphan, _, odd_id, last = events
    assert first.key == last.key
    assert (orphan.datasets, notices(orphan)) == ((), ["dataset_without_namespace at $.inputs[0].namespace"])
    assert odd_id.run_id == "run-77"


def test_case_21_failing_tests(shared_dir: Path) -> None:
    """Status as sent; assertions found in either container and on either side; tests by position."""
    a, b, c, d = (accepted(event) for event in case(shared_dir, "21")["deliver"])
    assert {event.run.status for event in (a, b, c, d) if event.run} == {"COMPLETE"}
    assert [(x.assertion, x.success, x.severity) for x in a.assertions + b.assertions] == [
        ("unique", False, "error"),
        ("recent", False, "warn"),
    ]
    assert [(t.test_name, t.status, t.severity) for t in c.tests] == [
        ("quay_totals_match", "fail", "error"),
        ("quay_totals_match", "pass", None),
        ("skipped_one", "skip", None),
    ]
    assert [(x.dataset_name, x.assertion) for x in d.assertions] == [
        ("harbour.public.fares", "not_null"),
        ("harbour.mart.fares", "positive"),
    ]


def corpus(shared_dir: Path) -> Iterator[tuple[str, bytes]]:
    """Every event of the real producers, with its file."""
    for path in sorted((shared_dir / "corpus").rglob("*.json")):
        content = json.loads(path.read_bytes())
        for event in content if isinstance(content, list) else [content]:
            yield str(path.relative_to(shared_dir)), text_of(event)


def test_every_event_of_real_producers_is_kept_or_refused_for_a_right_reason(shared_dir: Path) -> None:
    """Refused are templates and fragments only: without run id, without time, with a date only."""
    outcomes = [(place, parse(text)) for place, text in corpus(shared_dir)]
    assert len(outcomes) == 739
    refusals = Counter((o.reason, o.path) for _, o in outcomes if isinstance(o, Rejected))
    assert refusals == {
        (Reason.MISSING_FIELD, "$.run.runId"): 24,
        (Reason.MISSING_FIELD, "$.eventTime"): 3,
        (Reason.BAD_TIME, "$.eventTime"): 1,
    }
    for place, outcome in outcomes:
        if isinstance(outcome, Event):
            again = parse(outcome.body)
            assert isinstance(again, Event), place
            assert (again.key, again.run, again.datasets) == (outcome.key, outcome.run, outcome.datasets), place
