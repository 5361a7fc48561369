"""The form of what analyses tell: documents, flat rows, identities, severities."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Any

import pyarrow.parquet as pq
import pytest
from msgspec import Struct

from lineagelog.analysis import (
    Analysis,
    DatasetEvidence,
    Finding,
    Given,
    Insufficient,
    JobEvidence,
    Severity,
    Subject,
    SubjectResult,
    each,
)
from lineagelog.read import Window
from lineagelog.read.analyses import Answer
from lineagelog.read.frames import columns_of, parquet_of, rows_of

AT = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
WINDOW = Window(AT, AT)
GIVEN = Given(start=AT, end=AT, as_of=AT, values={})


class Late(JobEvidence, frozen=True, kw_only=True):
    minutes: int
    dataset_namespace: str = ""


def judge(row: Late) -> Finding | Insufficient | None:
    if row.n < 3:
        return Insufficient()
    if row.minutes == 0:
        return None
    return Finding(
        change="late", severity=Severity.LOW, observed=f"{row.minutes} minutes", expected="0", lower=-5.0, upper=5.0,
        explanation=f"{row.subject} is late.", **row.evidence,
    )  # fmt: skip


LATE = Analysis(name="late", question="Late?", about="", row=Late, explain=each(judge), method="median")


def row(name: str, n: int, minutes: int) -> Late:
    return Late(
        job_namespace="", job_name=name, minutes=minutes, n=n, first_seen=AT, last_seen=AT, run_ids=["r"] * 12
    )  # fmt: skip


def told(*rows: Late) -> Answer:
    return Answer("late", WINDOW, LATE.judge(rows, GIVEN))


def result(kind: str, **properties: str) -> SubjectResult:
    return SubjectResult(subject=Subject(kind, None, "x"), properties=properties)


def table(*results: SubjectResult) -> Any:
    analysis: Analysis[Any] = Analysis(name="t", question="", about="", row=Struct, explain=lambda rows, _: rows)
    return analysis.judge(results, GIVEN)


def test_a_document_of_findings() -> None:
    """The row's subject and evidence, what it knows besides, the analysis' method; insufficient ones are counted."""
    document = told(row("a", 5, 7), row("b", 5, 0), row("c", 2, 0), row("d", 1, 9)).document
    (finding,) = document.pop("findings")
    assert document == {"analysis": "late", "window": {"from": AT, "to": AT}, "results": [], "insufficient": 2}
    assert len(finding.pop("finding_id")) == 36
    assert finding == {
        "analysis": "late",
        "subject": {"kind": "job", "namespace": None, "name": "a"},
        "severity": "low",
        "status": "OPEN",
        "change": "late",
        "detail": "",
        "observed": "7 minutes",
        "expected": "0",
        "lower": -5.0,
        "upper": 5.0,
        "score": None,
        "method": "median",
        "n": 5,
        "first_seen": AT,
        "last_seen": AT,
        "run_ids": ("r",) * 10,
        "explanation": "a is late.",
        "minutes": 7,
        "dataset_namespace": None,
    }


def test_a_document_of_results() -> None:
    """Subject and texts by name; a property that is not there, annotations and our own numbers are not made up."""
    plain = result("job", runs="3")
    full = SubjectResult(subject=plain.subject, properties={}, annotations=[{"a": "b"}], ours={"rate": 0.5})
    document = Answer("t", Window(datetime.min.replace(tzinfo=UTC), AT), table(plain, full)).document
    subject = {"kind": "job", "namespace": None, "name": "x"}
    assert document == {
        "analysis": "t",
        "window": {"from": None, "to": AT},
        "results": [
            {"subject": subject, "properties": {"runs": "3"}},
            {"subject": subject, "properties": {}, "annotations": [{"a": "b"}], "ours": {"rate": 0.5}},
        ],
        "findings": [],
        "insufficient": 0,
    }


@pytest.mark.parametrize(
    "other",
    [
        {"subject": Subject("dataset", None, "a")},
        {"subject": Subject("test", None, "a", test="t")},
        {"subject": Subject("job", "", "a")},
        {"subject": Subject("job", None, "a", "c")},
        {"change": "early"},
        {"detail": "r"},
        {"analysis": "early"},
    ],
)
def test_what_tells_findings_apart(other: dict[str, Any]) -> None:
    """Analysis, subject, change and detail; numbers and times move while a finding lasts."""
    base: dict[str, Any] = {
        "subject": Subject("job", None, "a"), "change": "late", "severity": Severity.LOW, "observed": "",
        "expected": "", "n": 1, "first_seen": AT, "last_seen": AT, "run_ids": (), "explanation": "", "analysis": "late",
    }  # fmt: skip
    moved = {"observed": "x", "n": 2, "lower": 1.0, "severity": Severity.HIGH, "run_ids": ("r",), "values": {"a": 1}}
    assert Finding(**base).finding_id == Finding(**(base | moved)).finding_id
    assert Finding(**base).finding_id != Finding(**(base | other)).finding_id


def test_what_a_row_of_a_dataset_says() -> None:
    """Names of a job are further values of what is about a dataset."""

    class Written(DatasetEvidence, frozen=True, kw_only=True):
        job_name: str

    written = Written(
        dataset_namespace="n", dataset_name="d", job_name="j", n=1, first_seen=AT, last_seen=AT, run_ids=[]
    )  # fmt: skip
    assert written.evidence["subject"] == Subject("dataset", "n", "d")
    assert written.evidence["values"] == {"job_name": "j"}


@pytest.mark.parametrize(
    ("excess", "severity"),
    [(1, "low"), (1.5, "medium"), (2.99, "medium"), (3, "high"), (6, "critical"), (1e9, "critical")],
)
def test_the_further_off_the_more_severe(excess: float, severity: str) -> None:
    """By multiples of what is allowed."""
    assert Severity.by_excess(excess) == severity


def test_subjects_for_people() -> None:
    """Tests and columns name what they belong to."""
    assert str(Subject("test", "n", "d", "c", "not_null")) == "not_null of n/d#c"
    assert str(Subject("job", None, "j")) == "j"


def test_flat_rows_and_parquet() -> None:
    """One line for each; times, numbers and lists keep their kind in Parquet; what nobody has is no column."""
    profile = Answer("t", WINDOW, table(result("job", runs="3"), result("dataset", rows="1")))
    both = [profile, told(row("a", 5, 7))]
    assert columns_of(both)[:6] == (
        "analysis", "subject_kind", "subject_namespace", "subject_name", "subject_column", "subject_test",
    )  # fmt: skip
    assert columns_of(both)[-2:] == ("runs", "rows")
    assert "severity" not in columns_of([profile])
    assert "severity" in columns_of([told()])
    read = pq.read_table(io.BytesIO(parquet_of(both)))
    assert read.column_names == list(columns_of(both))
    first, _, found = read.to_pylist()
    assert (first["runs"], first["severity"]) == ("3", None)
    assert (found["first_seen"], found["upper"], found["n"], found["run_ids"]) == (AT, 5.0, 5, ["r"] * 10)
    assert found["values"] == '{"minutes":7,"dataset_namespace":null}'
    assert len(list(rows_of(both))) == 3
