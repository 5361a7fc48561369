"""Quality summary: Egeria's "Summarise OpenLineage Data Quality" (`LovelaceOpenLineageDataQualitySummaryService`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, Final

from msgspec import Struct

from lineagelog.analysis import Analysis, Given, RawEvent, Result, Subject, SubjectResult
from lineagelog.analysis.maths.proportion import wilson

from .formulas import instant, millis, percentage
from .shared import HISTORY, stamps, start_of
from .sighting import Name, Reported, sightings

_SERVICE: Final = "Summarise OpenLineage Data Quality"


class DimensionResults(Struct, frozen=True, kw_only=True):
    """A row: results of a dimension of a dataset (assertions) or job (tests); rows of a subject come together."""

    kind: str
    """dataset or job."""
    namespace: str | None
    name: str
    dimension: str
    passed: int
    failed: int
    skipped: int
    last_failure: int | None
    last_result: str
    severity: str | None
    """The last one that was given."""
    runs_passed: int
    """Runs whose last result of the dimension is this."""
    runs_failed: int

    @property
    def subject(self) -> Subject:
        """What was checked."""
        return Subject(self.kind, self.namespace or None, self.name)


def explain(rows: Iterable[DimensionResults], given: Given) -> Iterator[SubjectResult]:
    """A report for each subject, with an annotation for each dimension and one for all of them."""
    for subject, group in groupby(rows, key=lambda row: row.subject):
        dimensions = list(group)
        passed, failed = (sum(getattr(row, name) for row in dimensions) for name in ("passed", "failed"))
        rate = percentage(passed, failed)
        period = f"between {instant(start_of(given))} and {instant(millis(given.end))}."
        yield SubjectResult(
            subject=subject,
            properties={
                **stamps(given, _SERVICE),
                "overallPassRate": str(rate),
                "dimensions": str(len(dimensions)),
            },
            annotations=[
                *(_annotation(row, period) for row in dimensions),
                {
                    "qualityDimension": "overall",
                    "qualityScore": rate,
                    "sampleSize": passed + failed,
                    "summary": f"overall: {passed} passed, {failed} failed ({rate}%)",
                    "qualityDescription": f"Pass rate {period}",
                },
            ],
            report=_report(subject, period, rate, given),
            ours={"dimensions": {row.dimension: _ours(row) for row in dimensions}},
        )


def _annotation(row: DimensionResults, period: str) -> dict[str, Any]:
    rate = percentage(row.passed, row.failed)
    skipped = f", {row.skipped} skipped" if row.skipped else ""
    told = [f"Pass rate {period}"]
    if row.last_failure is not None:
        told.append(f"Last failure at {instant(row.last_failure)}.")
    told.append(f"Latest result: {row.last_result.lower()}.")
    if row.severity is not None:
        told.append(f"Severity: {row.severity}.")
    return {
        "qualityDimension": row.dimension,
        "qualityScore": rate,
        "sampleSize": row.passed + row.failed + row.skipped,
        "summary": f"{row.dimension}: {row.passed} passed, {row.failed} failed{skipped} ({rate}%)",
        "qualityDescription": "  ".join(told),
    }


def _report(subject: Subject, period: str, rate: int, given: Given) -> dict[str, str]:
    """The texts of the survey report; it has no start where the window has none."""
    name = f"{subject.namespace or 'null'}/{subject.name}"
    what = "tests" if subject.kind == "job" else "assertions"
    told = {
        "displayName": f"OpenLineage data quality summary for {name}",
        "description": f"Pass rates of the data quality {what} reported in OpenLineage events for "
        f"{subject.kind} {name} {period}  Overall pass rate {rate}%.",
        "purpose": "Summarise the data quality results observed by the runs of data pipelines over a period.",
        "analysisStep": "SUMMARISE",
        "completionTime": instant(millis(given.end)),
        "explanation": f"Derived by {_SERVICE} from the OpenLineage log store.",
    }
    start = start_of(given)
    return told if start is None else told | {"startTime": instant(start)}


def _ours(row: DimensionResults) -> dict[str, Any]:
    """One result a run, the last one that it reported; with Wilson's interval of the share that passed."""
    runs = row.runs_passed + row.runs_failed
    return {
        "passed": row.runs_passed,
        "failed": row.runs_failed,
        "pass_rate": row.runs_passed / runs if runs else None,
        "pass_rate_95": list(wilson(row.runs_passed, runs)),
    }


class _DimensionSeen(Struct):
    """The results of a dimension, one by one."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    last_failure: int | None = None
    last_result: str = ""
    severity: str | None = None
    runs: dict[str, str] = {}
    """The last result of each run."""

    def add(self, time: int, run_id: str, check: Reported) -> None:
        """Results come in order of time."""
        if check.result == "pass":
            self.passed += 1
        elif check.result == "fail":
            self.failed += 1
            self.last_failure = time
        else:
            self.skipped += 1
        self.last_result = check.result
        self.severity = check.severity if check.severity is not None else self.severity
        self.runs[run_id] = check.result


def from_events(events: Iterable[RawEvent]) -> Iterator[DimensionResults]:
    """The rows as Egeria's file reader has them: each report of each event is a result."""
    found: dict[tuple[str, Name], dict[str, _DimensionSeen]] = {}
    for seen in sightings(events):
        reports = [(("dataset", each.dataset), check) for each in seen.inputs for check in each.checks]
        reports += [(("job", seen.job), check) for check in seen.checks]
        for subject, check in reports:
            dimensions = found.setdefault(subject, {})
            dimensions.setdefault(check.dimension, _DimensionSeen()).add(seen.time, seen.run_id, check)
    for kind, name in sorted(found, key=lambda subject: (subject[0], subject[1][0] or "", subject[1][1])):
        for dimension, results in found[kind, name].items():
            last = list(results.runs.values())
            yield DimensionResults(
                kind=kind,
                namespace=name[0],
                name=name[1],
                dimension=dimension,
                passed=results.passed,
                failed=results.failed,
                skipped=results.skipped,
                last_failure=results.last_failure,
                last_result=results.last_result,
                severity=results.severity,
                runs_passed=last.count("pass"),
                runs_failed=last.count("fail"),
            )


ANALYSIS: Final = Analysis(
    name="quality_summary",
    question="How often do the assertions of each dataset and the tests of each job pass?",
    about="Egeria's data quality summary: a pass rate and a sentence for each dimension; better numbers beside it.",
    parameters=(HISTORY,),
    row=DimensionResults,
    explain=explain,
    from_events=from_events,
    is_as_of_its_end=True,
    result=Result.TABLE,
    columns=("overallPassRate", "dimensions"),
    example="--since -30d --json",
)
