"""Publishing through real pyegeria into the contract double: what arrives, once, whatever happens on the way."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lineagelog.egeria.remote import Egeria
from lineagelog.publish import PlanItem, Publisher, Report, plan
from lineagelog.settings import EgeriaSettings
from lineagelog.store import LogStore
from lineagelog.store.ledgers.publications import OutboxState, Publications

from .documents import document, finding, profile, quality, scope
from .double import Asked, Double

pytestmark = pytest.mark.long

type Publish = Callable[[list[PlanItem]], Report]


@pytest.fixture
def outbox(store: LogStore) -> Publications:
    return Publications(store.database)


@pytest.fixture
def publish(outbox: Publications, egeria: Egeria) -> Publish:
    publisher = Publisher(outbox, egeria)

    def both(wishes: list[PlanItem]) -> Report:
        publisher.keep(wishes, days_kept=2)
        return publisher.publish()

    return both


@pytest.fixture
def known(double: Double) -> Double:
    """A double that knows job a and dataset d."""
    double.add("DeployedSoftwareComponent", "DeployedSoftwareComponent::ns::a", resourceName="a", namespacePath="ns")
    double.add("DataSet", "DataSet::ns::d", resourceName="d", namespacePath="ns")
    return double


def everything(day: int = 10, **more: str) -> list[PlanItem]:
    told = [
        document("run_profile", profile("a", **more)),
        document("data_scope", scope("d", dataCollectionStartTime="2026-09-01T00:00:00Z", **more)),
        document("quality_summary", quality("dataset", "d", unique=98, overall=97), quality("job", "a", all_rows=90)),
        document("stale_dataset", findings=(finding("d", 1), finding("d", 2, severity="critical"))),
    ]
    for each in told:
        each["window"] = {"from": None, "to": f"2026-09-{day}T10:00:00+00:00"}
    return plan(told, incidents=True)


def state(double: Double) -> dict[str, Any]:
    """All that Egeria holds, by names and not by GUIDs."""
    names = {guid: each.properties["qualifiedName"] for guid, each in double.elements.items()}
    return {
        "elements": {
            names[guid]: (each.type_name, each.properties, each.classifications, names.get(each.anchor or ""))
            for guid, each in double.elements.items()
        },
        "links": sorted(
            (each.type_name, names[each.end1], names[each.end2], json.dumps(each.properties))
            for each in double.relationships.values()
        ),
    }


def test_all_of_it_arrives_where_it_belongs(publish: Publish, known: Double) -> None:
    assert publish(everything()) == Report(confirmed=6)
    job, data = known.named("DeployedSoftwareComponent::ns::a"), known.named("DataSet::ns::d")
    assert job.classifications["RunMetrics"]["additionalProperties"]["runsInWindow"] == "3"
    assert data.classifications["DataScope"]["dataCollectionStartTime"] == "2026-09-01T00:00:00Z"
    assert data.classifications["DataScope"]["additionalProperties"]["writesInWindow"] == "3"
    quality_report = known.named("OpenLineageDataQualitySummary::DataSet::ns::d::2026-09-10")
    assert [(link.end1, link.end2) for link in known.links("ReportSubject")].count(
        (data.guid, quality_report.guid)
    ) == 1
    assert len(known.links("ReportOriginator")) == 1
    scores = {
        each.properties["qualityDimension"]: each.properties["qualityScore"]
        for each in known.of_type("QualityAnnotation")
    }
    assert scores == {"unique": 98, "overall": 97, "all_rows": 90}
    requests = known.of_type("RequestForAction")
    assert {each.properties["actionProperties"]["observed"] for each in requests} == {"3 days old"}
    assert {link.end1 for link in known.links("RequestForActionTarget")} | {
        link.end2 for link in known.links("RequestForActionTarget")
    } >= {each.guid for each in requests}
    assert [each.properties["incidentStatus"] for each in known.of_type("IncidentReport")] == ["RAISED"]


def test_twice_is_once(publish: Publish, known: Double, outbox: Publications) -> None:
    """Also where the outbox has forgotten that it was done."""
    publish(everything())
    before = state(known)
    known.asked.clear()
    assert publish(everything()) == Report()
    assert not known.asked
    for item in list(outbox.list()):
        outbox.fail(item, "as if", item.next_try - item.next_try)
    assert publish(everything()).confirmed == 6
    assert state(known) == before
    assert not known.changes()


def test_a_later_pass_of_the_day_updates_and_an_old_day_goes(publish: Publish, known: Double) -> None:
    publish(everything(10))
    publish(everything(10, failedRunsInWindow="1"))
    assert len(known.of_type("SurveyReport")) == 3
    assert (
        known.named("DataSet::ns::d").classifications["DataScope"]["additionalProperties"]["failedRunsInWindow"] == "1"
    )
    for day in (11, 12):
        publish(everything(day))
    days = {each.properties["qualifiedName"][-10:] for each in known.of_type("SurveyReport")}
    assert {day for day in days if day.startswith("2026")} == {"2026-09-11", "2026-09-12"}
    assert not [each for each in known.of_type("QualityAnnotation") if "09-10" in each.properties["qualifiedName"]]


def test_a_finding_that_is_over_is_closed(publish: Publish, known: Double) -> None:
    publish(plan([document("stale_dataset", findings=(finding("d", 1), finding("d", 2)))]))
    publish(plan([document("stale_dataset", findings=(finding("d", 2), finding("d", 3)))]))
    told = {
        each.properties["qualifiedName"][-1]: each.properties["actionProperties"]["status"]
        for each in known.of_type("RequestForAction")
    }
    assert told == {"1": "CLOSED", "2": "OPEN", "3": "OPEN"}


def test_the_counters_of_others_stay(publish: Publish, known: Double) -> None:
    job = known.named("DeployedSoftwareComponent::ns::a")
    job.classifications["RunMetrics"] = {
        "runCount": 40,
        "additionalProperties": {"theirs": "1", "meanRunInterval": "5"},
    }
    publish(everything())
    held = job.classifications["RunMetrics"]
    assert held["runCount"] == 40 and held["additionalProperties"]["theirs"] == "1"
    assert "meanRunInterval" not in held["additionalProperties"]


def test_the_physical_one_then_the_oldest_then_every_name(publish: Publish, double: Double) -> None:
    for type_name, name in (("DataSet", "s1"), ("RelationalTable", "t1"), ("RelationalTable", "t2")):
        double.add(type_name, name, resourceName="d", namespacePath="ns")
    double.add("DataFile", "f", pathName="s3://bucket/key")
    publish(plan([document("data_scope", scope("d"))]))
    assert [each.properties["qualifiedName"] for each in double.elements.values() if each.classifications] == ["t1"]
    other = scope("spelled otherwise")
    other["subject"]["other_names"] = [["s3://bucket", "key"]]
    publish(plan([document("data_scope", other)]))
    assert "DataScope" in double.named("f").classifications


def test_nothing_is_asked_twice_where_nothing_changed(publish: Publish, double: Double) -> None:
    """At most two requests for each subject."""
    names = [f"job {number}" for number in range(50)]
    for name in names:
        double.add("DeployedSoftwareComponent", f"p::{name}", resourceName=name, namespacePath="ns")
    assert publish(plan([document("run_profile", *map(profile, names))])).confirmed == 50
    assert len(double.asked) <= 2 * 50
    double.asked.clear()
    publish(plan([document("run_profile", *map(profile, names))]))
    assert not double.asked


def test_faults_end_in_confirmed_or_parked(outbox: Publications, egeria: Egeria, known: Double) -> None:
    """A fifth of all requests fails in one of many ways; nothing is lost, nothing is there twice."""
    chance = random.Random(20260910)
    kinds = ("wrapped-500", "bare-503", "hang-up", "after", "wrapped-400", "401")
    known.fault = lambda _: chance.choice(kinds) if chance.random() < 0.2 else None
    publisher = Publisher(outbox, egeria)
    names = [f"job {number}" for number in range(25)]
    for name in names:
        known.add("DeployedSoftwareComponent", f"p::{name}", resourceName=name, namespacePath="ns")
    results = [quality("job", name, overall=90, unique=80) for name in names]
    publisher.keep(plan([document("quality_summary", *results)]), days_kept=2)
    for _ in range(400):
        try:
            publisher.publish()
        except Exception as error:  # away, for this one
            assert "Egeria" in str(error) or "process" in str(error)
        outbox.retry([item.id for item in outbox.list([OutboxState.FAILED])] or None)
        counts = outbox.counts()
        if counts[OutboxState.CONFIRMED] + counts[OutboxState.PARKED] == len(names):
            break
    known.fault = lambda _: None
    outbox.retry()
    publisher.publish()
    assert outbox.counts()[OutboxState.CONFIRMED] == len(names)
    assert len(known.of_type("SurveyReport")) == 25 and len(known.of_type("QualityAnnotation")) == 50
    links = [(each.type_name, each.end1, each.end2) for each in known.relationships.values()]
    assert len(links) == len(set(links))


_PUBLISH = """
import sys
from pathlib import Path
from lineagelog.egeria.remote import Egeria
from lineagelog.publish import Publisher
from lineagelog.settings import EgeriaSettings
from lineagelog.store import Database, open_engine
from lineagelog.store.ledgers.publications import Publications
database = Database(open_engine(sys.argv[1]), sys.argv[2])
with Egeria(EgeriaSettings.model_validate_json(sys.argv[3])) as egeria:
    Publisher(Publications(database), egeria).publish()
"""


def test_killed_at_each_step_it_goes_on(
    outbox: Publications, store: LogStore, reach: EgeriaSettings, known: Double
) -> None:
    """SIGKILL before and after each request that changes something, then again: once, all the same."""
    Publisher(outbox, None).keep(everything(), days_kept=2)  # type: ignore[arg-type]  # nothing is sent
    arguments = [store.database.url, store.database.schema, reach.model_dump_json()]
    process: list[subprocess.Popen[bytes]] = []
    killed = threading.Event()

    def kill(asked: Asked) -> str | None:
        """Every other time before it is done, else after it."""
        if killed.is_set() or not Double.changes_something(asked):
            return None
        killed.set()
        os.kill(process[-1].pid, signal.SIGKILL)
        return "after" if len(process) % 2 else "hang-up"

    known.fault = kill
    for _ in range(60):
        killed.clear()
        with store.database.engine.begin() as connection:
            connection.exec_driver_sql(f'UPDATE "{store.database.schema}".ol_publication SET lease_until = now()')
        process.append(subprocess.Popen([sys.executable, "-c", _PUBLISH, *arguments], cwd=Path.cwd()))
        if process[-1].wait() == 0:
            break
    assert process[-1].returncode == 0 and len(process) > 10
    assert outbox.counts()[OutboxState.CONFIRMED] == 6
    again = state(known)
    links = again["links"]
    assert len(links) == len({tuple(each) for each in links})
    assert len(known.of_type("SurveyReport")) == 3 and len(known.of_type("QualityAnnotation")) == 3
    assert len(known.of_type("RequestForAction")) == 2 and len(known.of_type("IncidentReport")) == 1
