"""What the analyses tell of three real runs arrives in Egeria as it was told, string for string."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from lineagelog.analysis import analysis_named
from lineagelog.egeria.remote import Egeria
from lineagelog.publish import Publisher, Report, plan
from lineagelog.read.analyses import ask
from lineagelog.store import LogStore
from lineagelog.store.ledgers.publications import Publications
from tests.analysis.lovelace.support import WINDOW, event, read, store_all, written

from .double import Double

pytestmark = pytest.mark.long


@pytest.fixture
def told(store: LogStore) -> dict[str, dict[tuple[str, str], dict[str, Any]]]:
    """The results of the three analyses, by subject: runs an hour apart, five minutes long, that check and write."""
    checks = [{"assertion": "not_null", "column": "id", "success": True}, {"assertion": "row_count", "success": True}]
    for each in range(3):
        store_all(store, [event(60 * each, "START", each)])
        ended = {"inputs": [read("s", 20, checks=checks)], "outputs": [written("t", 10, 1000)]}
        store_all(store, [event(60 * each + 5, "COMPLETE", each, **ended)])
    names = ("run_profile", "data_scope", "quality_summary")
    answers = {name: ask(store.database, analysis_named(name), WINDOW) for name in names}
    return {
        name: {(each["subject"]["kind"], each["subject"]["name"]): each for each in answer.document["results"]}
        for name, answer in answers.items()
    }


def test_every_value_arrives_as_it_was_told(
    store: LogStore, told: dict[str, dict[tuple[str, str], dict[str, Any]]], egeria: Egeria, double: Double
) -> None:
    double.add("DeployedSoftwareComponent", "Process::job", resourceName="job", namespacePath="shop")
    for name in ("s", "t"):
        namespace = told["data_scope"]["dataset", name]["subject"]["namespace"]
        double.add("DataSet", f"DataSet::{name}", resourceName=name, namespacePath=namespace)
    window = {"from": WINDOW.start, "to": WINDOW.end}
    documents = [
        {"analysis": name, "window": window, "results": list(results.values()), "findings": []}
        for name, results in told.items()
    ]
    publisher = Publisher(Publications(store.database), egeria)
    publisher.keep(plan(documents), days_kept=2)
    assert publisher.publish() == Report(confirmed=4)

    metrics = dict(double.named("Process::job").classifications["RunMetrics"])
    profile = told["run_profile"]["job", "job"]
    assert metrics.pop("additionalProperties") == profile["properties"]
    assert (profile["properties"]["inferredSchedule"], profile["properties"]["runIntervalRegularity"]) == (
        "HOURLY",
        "REGULAR",
    )
    times = {name: milliseconds(value) for name, value in profile["typed"].items() if name.endswith("Time")}
    assert metrics == profile["typed"] | times

    for name in ("s", "t"):
        scope = dict(double.named(f"DataSet::{name}").classifications["DataScope"])
        assert scope.pop("additionalProperties") | scope == told["data_scope"]["dataset", name]["properties"]
    assert told["data_scope"]["dataset", "t"]["properties"]["writePattern"] == "APPENDED"

    summary = told["quality_summary"]["dataset", "s"]
    (report,) = double.of_type("SurveyReport")
    explanation = summary["report"].pop("explanation")
    assert report.properties["analysisParameters"] == summary["properties"]
    assert {name: report.properties[name] for name in summary["report"]} == summary["report"]
    arrived = [each.properties for each in double.of_type("QualityAnnotation")]
    assert [{name: each[name] for name in summary["annotations"][0]} for each in arrived] == summary["annotations"]
    assert {each["explanation"] for each in arrived} == {explanation} and len(arrived) == 3


def milliseconds(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)
