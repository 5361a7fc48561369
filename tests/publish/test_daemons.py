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


def test_a_name_that_two_servers_have(egeria: Egeria, double: Double, daemon: str) -> None:
    double.add("DataSet", "DataSet::daemon", displayName="daemon")
    assert find_daemon(egeria, "daemon").guid == daemon
    assert find_daemon(egeria, daemon).guid == daemon
    double.add("SoftwareServer", "Server::other", displayName="daemon")
    with pytest.raises(EgeriaRefused, match="2 servers"):
        find_daemon(egeria, "daemon")
    assert find_daemon(egeria, "Coco.daemon").guid == daemon
