"""Results of tests and assertions, in few words."""

from __future__ import annotations

from typing import Any

from ..support import dataset, day, run, run_id_of

FACETS = {"f": False, "p": True}


def asserted(
    letters: str, *, job: str = "check", versions: str = "", severity: str = "error", **more: Any
) -> list[list]:
    """A run a day with the assertion not_null of t.c: p passed, f failed, any other letter neither."""
    runs = []
    for number, letter in enumerate(letters):
        assertion = {"assertion": "not_null", "column": "c", "severity": severity, **more}
        if letter in FACETS:
            assertion["success"] = FACETS[letter]
        table = dataset("t")
        table["inputFacets"] = {"dataQualityAssertions": {"assertions": [assertion]}}
        if versions:
            table["facets"]["version"] = {"datasetVersion": versions[number]}
        runs.append(run(job, day(number), [table], []))
    return runs


def suite(letters: str, *names: str, job: str = "suite") -> list[list]:
    """A run a day with tests of these names, all with the same result."""
    status = {"f": "fail", "p": "pass", "s": "skip"}
    runs = []
    for number, letter in enumerate(letters):
        tests = [{"name": name, "type": "row_count", "status": status[letter]} for name in names]
        facets = {"test": {"tests": tests}}
        runs.append(run(job, day(number), [], [], run={"runId": run_id_of(job, day(number)), "facets": facets}))
    return runs
