"""Recorded findings are planned beside what analyses tell: open ones, and those that were closed lately."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineagelog.analysis import Severity, analysis_named
from lineagelog.findings import Recorder
from lineagelog.publish.item import PlanKind
from lineagelog.publish.source import wishes
from lineagelog.settings import AnalyseSettings, EgeriaSettings, Settings
from lineagelog.store.ledgers.findings import Findings
from tests.analysis.support import day, load, run, window
from tests.findings.support import finding, kept, record

if TYPE_CHECKING:
    from lineagelog.store import LogStore

INCIDENTS = Settings(egeria=EgeriaSettings(incidents=True))


def test_open_and_lately_closed_findings_are_planned(store: LogStore) -> None:
    """With their status, as the incident has it; what was muted, or closed before the window, is not told."""
    critical = {"severity": Severity.CRITICAL}
    record(store, 0, 3, *(finding(name, 2, **critical) for name in ("open", "over", "muted", "old")))
    Findings(store.database).mute(kept(store)["muted"].finding_id, by="ben")
    record(store, 0, 4, finding("open", 2, **critical), finding("muted", 2, **critical))
    with store.engine.begin() as connection:
        connection.exec_driver_sql(
            "UPDATE openlineage.ol_finding SET closed_at = %s WHERE subject_name = 'old'", (day(-9),)
        )
    planned = wishes(store.database, [], window(0, 9), INCIDENTS)
    reports = {each.about.name: each.content["findings"] for each in planned if each.kind is PlanKind.FINDINGS}
    assert {name: [each["is_open"] for each in found] for name, found in reports.items()} == {
        "open": [True],
        "over": [False],
    }
    incidents = {each.about.name: each.content["incidentStatus"] for each in planned if each.kind is PlanKind.INCIDENT}
    assert incidents == {"open": "RAISED", "over": "RESOLVED"}


def test_what_is_recorded_holds(store: LogStore) -> None:
    """A finding that an analysis tells anew is planned once; not at all where somebody has muted it."""
    bad = [run("a", day(each), [], [], eventType="FAIL") for each in range(10, 16)]
    load(store, *(run("a", day(each), [], []) for each in range(10)), *bad)
    streak = analysis_named("failure_streak")

    def planned() -> list[str]:
        return [
            each["finding_id"]
            for item in wishes(store.database, [streak], window(9, 16), Settings())
            for each in item.content["findings"]
        ]

    (told,) = planned()
    Recorder(store.database).record(streak, window(9, 16))
    assert planned() == [told]
    Findings(store.database).mute(kept(store)["a"].finding_id, by="ben")
    assert planned() == []


def test_rules_of_the_settings_hold(store: LogStore) -> None:
    """What `[[analyse.rules]]` leave out when an analysis is asked is not published either."""
    bad = [run(name, day(each), [], [], eventType="FAIL") for each in range(10, 16) for name in ("a", "b")]
    load(store, *(run(name, day(each), [], []) for each in range(10) for name in ("a", "b")), *bad)
    rules = AnalyseSettings(rules=({"job": "*/b", "ignore": True},))
    found = wishes(store.database, [analysis_named("failure_streak")], window(9, 16), Settings(analyse=rules))
    assert {item.about.name for item in found} == {"a"}
