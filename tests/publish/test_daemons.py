"""`lineagelog egeria …` through real pyegeria: what is looked at, what it says where something is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from lineagelog.egeria.daemons import find_daemon
from lineagelog.egeria.remote import Egeria
from lineagelog.errors import EgeriaRefused
from lineagelog.settings import EgeriaSettings
from tests.support import Ran, run_here

from .double import Double

pytestmark = pytest.mark.long

type Run = Callable[..., Ran]


@pytest.fixture
def daemon(double: Double) -> str:
    """A daemon that the double knows: its GUID."""
    return double.add("SoftwareServer", "Server::daemon", resourceName="Coco.daemon", displayName="daemon")


@pytest.fixture
def run(reach: EgeriaSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs commands with settings that reach the double; some of them may be given otherwise."""

    def run_with(*arguments: str, **other: object) -> Ran:
        for name, value in (reach.model_dump(exclude_none=True) | {"daemon": "daemon"} | other).items():
            if name in ("platform_url", "view_server", "user", "password_file", "ca_file", "python", "daemon"):
                monkeypatch.setenv(f"LINEAGELOG_EGERIA__{name.upper()}", str(value))
        return run_here(*arguments)

    monkeypatch.chdir(tmp_path)
    return run_with


def test_all_is_well(run: Run, daemon: str) -> None:
    told = run("egeria", "check", "--json")
    assert told.code == 0
    checks = json.loads(told.out)["checks"]
    assert [check["subject"] for check in checks] == ["platform", "TLS", "token", "view server", "daemon"]
    assert "version 6.2" in checks[0]["observed"] and checks[-1]["observed"] == "daemon runs 1 connectors"


@pytest.mark.parametrize(
    ("other", "subject", "says"),
    [
        ({"platform_url": "https://127.0.0.1:1"}, "platform", "cannot be reached"),
        ({"ca_file": ""}, "TLS", "not trusted"),
        ({"user": "somebody"}, "token", "Bad credentials"),
        ({"view_server": "none"}, "token", "view server"),
        ({"daemon": "another"}, "daemon", "no server of the name another"),
        ({"python": "/not/there"}, "pyegeria", "cannot be started"),
    ],
)
def test_what_is_wrong_is_named_and_what_comes_after_it_is_not_looked_at(
    run: Run, daemon: str, other: dict[str, str], subject: str, says: str
) -> None:
    told = run("egeria", "check", **other)
    assert told.code == 2
    *_, line, advice, count = told.out.splitlines()
    assert line.split()[:2] == ["!!", *subject.split()] and says in line
    assert advice.strip().startswith("→") and count == "1 finding"


def test_an_old_view_server(run: Run, double: Double, daemon: str) -> None:
    double.without = ("classification-explorer",)
    told = run("egeria", "check")
    assert told.code == 2 and "view server  this Egeria has no such endpoint" in told.out


def test_a_connector_that_failed(run: Run, double: Double, daemon: str) -> None:
    double.failures = {"OpenLineageCataloguer": "no store"}
    assert "OpenLineageCataloguer: no store" in run("egeria", "check").out
    listed = run("egeria", "connectors", "list", "--json")
    assert listed.code == 1
    assert [(each["name"], each["status"], each["problem"]) for each in json.loads(listed.out)] == [
        ("OpenLineageCataloguer", "FAILED", "no store")
    ]


def test_properties_are_added_and_replace_the_others_only_where_asked_for(
    run: Run, double: Double, daemon: str
) -> None:
    held = double.connectors["OpenLineageCataloguer"]
    assert json.loads(run("egeria", "connectors", "config", "OpenLineageCataloguer", "--json").out) == held
    given = ("egeria", "connectors", "config", "OpenLineageCataloguer", "--set", "namespace=a=b")
    assert run(*given).code == 0
    assert double.connectors["OpenLineageCataloguer"] == {**held, "namespace": "a=b"}
    assert run(*given, "--replace").code == 0
    assert double.connectors["OpenLineageCataloguer"] == {"namespace": "a=b"}
    unknown = run("egeria", "connectors", "config", "another")
    assert unknown.code == 2 and "another" in unknown.err


def test_one_connector_or_all_of_them(run: Run, double: Double, daemon: str) -> None:
    for verb in ("restart", "refresh"):
        assert run("egeria", "connectors", verb, "OpenLineageCataloguer").code == 0
        assert run("egeria", "connectors", verb, "--all").code == 0
        bodies = [asked.body or {} for asked in double.asked if asked.path.endswith(verb)]
        assert [body.get("name") for body in bodies] == ["OpenLineageCataloguer", None]
        told = run("egeria", "connectors", verb)
        assert told.code == 2 and "--all" in told.err


@pytest.fixture
def actions(double: Double) -> tuple[str, str]:
    """Two engine actions of the double: one that ended, one that goes on."""
    times = {"requestedTime": "2026-09-10T09:59:00Z", "startTime": "2026-09-10T10:00:00Z"}
    common = {"executorEngineName": "OurEngine", "requestType": "copy-file", **times}
    done = double.add(
        "EngineAction",
        "EngineAction::1",
        activityStatus="COMPLETED",
        processStepName="Step::1",
        completionTime="2026-09-10T10:05:00Z",
        **common,
    )
    goes_on = double.add("EngineAction", "EngineAction::2", activityStatus="IN_PROGRESS", **common)
    double.add("EngineAction", "EngineAction::3", activityStatus="APPROVED", **common)
    data = double.elements[double.add("DataSet", "DataSet::x")]
    role = {"class": "ActionTargetProperties", "actionTargetName": "outputDataSet"}
    double.elements[done].related = {"actionTargets": [{"relationshipProperties": role, "relatedElement": data.told()}]}
    return done, goes_on


def test_governance_actions_become_runs_once(
    run: Run, double: Double, actions: tuple[str, str], database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is stored already, whoever sent it, is passed over; what comes later is added."""
    monkeypatch.setenv("LINEAGELOG_DATABASE", database_url)
    asked = ("governance-actions", "--since", "2026-09-10", "--json")
    assert json.loads(run(*asked).out) == {"actions": 2, "stored": 3, "known": 0, "problems": 0}
    shown = json.loads(run("show", actions[0], "--json").out)
    assert [each["status"] for each in shown["runs"]] == ["COMPLETE"]
    assert shown["runs"][0]["governance_action"]["processStepName"] == "Step::1"
    assert [(each["direction"], each["dataset_name"]) for each in shown["datasets"]] == [("O", "DataSet::x")]
    double.elements[actions[1]].properties |= {"activityStatus": "FAILED", "completionTime": "2026-09-11T10:00:00Z"}
    assert json.loads(run(*asked).out) == {"actions": 2, "stored": 1, "known": 3, "problems": 0}
    later = ("governance-actions", "--since", "2026-09-11", "--dry-run")
    assert json.loads(run(*later).out) == []
    assert not double.events


def test_the_daemon_has_them_before_the_store(
    run: Run, double: Double, daemon: str, actions: tuple[str, str], database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An event that the daemon refuses is not stored: so it is sent again."""
    monkeypatch.setenv("LINEAGELOG_DATABASE", database_url)
    asked = ("governance-actions", "--since", "all", "--to-daemon")
    double.fault = lambda each: "wrapped-500" if each.path.endswith("publish-event") else None
    failed = run(*asked)
    assert failed.code == 2 and "OMAG-COMMON-500-001" in failed.err
    double.fault = lambda _: None
    told = run(*asked)
    assert told.out == "2 engine actions: 3 events stored, 0 were there\n"
    assert [(each["run"]["runId"], each["eventType"]) for each in double.events] == [
        (actions[0], "START"),
        (actions[0], "COMPLETE"),
        (actions[1], "START"),
    ]


def test_a_name_that_two_servers_have(egeria: Egeria, double: Double, daemon: str) -> None:
    double.add("DataSet", "DataSet::daemon", displayName="daemon")
    assert find_daemon(egeria, "daemon").guid == daemon
    assert find_daemon(egeria, daemon).guid == daemon
    double.add("SoftwareServer", "Server::other", displayName="daemon")
    with pytest.raises(EgeriaRefused, match="2 servers"):
        find_daemon(egeria, "daemon")
    assert find_daemon(egeria, "Coco.daemon").guid == daemon
