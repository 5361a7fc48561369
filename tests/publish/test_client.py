"""pyegeria against the contract double: what calls give, and what every way of failing becomes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from lineagelog.egeria.remote import Egeria
from lineagelog.errors import EgeriaError, EgeriaRefused, EgeriaUnavailable, EgeriaUnfit, SettingsError
from lineagelog.settings import EgeriaSettings

from .double import Double

pytestmark = pytest.mark.long


def process(name: str) -> dict[str, Any]:
    properties = {"class": "DeployedSoftwareComponentProperties", "typeName": "DeployedSoftwareComponent"}
    return {
        "class": "NewElementRequestBody",
        "isOwnAnchor": True,
        "properties": {**properties, "qualifiedName": name, "displayName": name},
    }


def find(egeria: Egeria, name: str, **more: Any) -> Any:
    return egeria.call("find", property_value=name, property_names=["qualifiedName"], **more)


def test_what_calls_give(egeria: Egeria, double: Double) -> None:
    guid = egeria.call("create_asset", body=process("p"))
    assert find(egeria, "p", metadata_element_type="Process")[0]["elementHeader"]["guid"] == guid
    assert not find(egeria, "q")
    metrics = {"runCount": {"class": "PrimitiveTypePropertyValue", "typeName": "long", "primitiveValue": 12}}
    body = {
        "class": "NewClassificationRequestBody",
        "properties": {"class": "NewElementProperties", "propertyValueMap": metrics},
    }
    given = {"metadata_element_guid": guid, "classification_name": "RunMetrics", "body": body}
    assert egeria.call("classify", **given) is None
    assert double.elements[guid].classifications == {"RunMetrics": {"runCount": 12}}
    assert egeria.call("approved_actions", governance_engine_guid=guid) == []


def test_pages_are_read_to_their_end(double: Double, reach: EgeriaSettings) -> None:
    for number in range(7):
        double.add("DataSet", f"DataSet::s::{number}", namespacePath="s")
    with Egeria(reach.model_copy(update={"page_size": 3})) as egeria:
        found = egeria.call("find", pages=True, property_value="s", property_names=["namespacePath"])
    assert [each["properties"]["qualifiedName"] for each in found] == [f"DataSet::s::{number}" for number in range(7)]


@pytest.mark.parametrize(
    ("fault", "raised", "says"),
    [
        ("wrapped-500", EgeriaUnavailable, "OMAG-COMMON-500-001"),
        ("wrapped-400", EgeriaRefused, "OMAG-COMMON-400-004"),
        ("bare-503", EgeriaUnavailable, "HTTP 503: busy"),
        ("bare-404", EgeriaUnfit, "no such endpoint"),
        ("401", EgeriaUnfit, "let the user in"),
        ("text", EgeriaUnfit, "not JSON"),
        ("hang-up", EgeriaUnavailable, "disconnected"),
    ],
)
def test_each_way_of_failing(egeria: Egeria, double: Double, fault: str, raised: type[EgeriaError], says: str) -> None:
    """In one line; and the next call is made."""
    double.fault = lambda _: fault
    with pytest.raises(raised, match=says) as error:
        find(egeria, "p")
    assert type(error.value) is raised and "\n" not in str(error.value)
    double.fault = lambda _: None
    assert find(egeria, "p") in (None, [])


def test_what_egeria_advises(egeria: Egeria, double: Double) -> None:
    double.add("DeployedSoftwareComponent", "p")
    with pytest.raises(EgeriaRefused) as error:
        egeria.call("create_asset", body=process("p"))
    assert (error.value.code, error.value.message_id) == (400, "OMAG-GENERIC-HANDLERS-400-014")
    assert error.value.user_action == "Look at the request and correct it."


def test_an_empty_reply_is_no_error(egeria: Egeria, double: Double) -> None:
    """pyegeria reads the body of a 204, and fails at it."""
    double.fault = lambda _: "204"
    assert find(egeria, "p") is None


def test_a_token_that_expires_is_renewed(egeria: Egeria, double: Double) -> None:
    double.calls_per_token = 3
    for number in range(10):
        egeria.call("create_asset", body=process(f"p{number}"))
    assert len(double.of_type("Process")) == 10


@pytest.mark.parametrize(
    ("change", "raised", "says"),
    [
        ({"password_file": None}, EgeriaUnfit, "Bad credentials"),
        ({"view_server": "wrong"}, EgeriaUnfit, "view server"),
        ({"ca_file": None}, EgeriaUnfit, "certificate is not trusted"),
        ({"platform_url": "https://127.0.0.1:1"}, EgeriaUnavailable, "cannot be reached"),
        ({"python": Path(sys.executable)}, EgeriaUnfit, "pyegeria is not there"),
        ({"python": Path("/not/there")}, EgeriaUnfit, "cannot be started"),
        ({"ca_file": Path(__file__)}, EgeriaUnfit, "no file of certificates"),
        ({"platform_url": None}, SettingsError, "platform_url"),
        ({"user": None}, SettingsError, "user"),
    ],
)
def test_what_is_set_up_wrongly(
    reach: EgeriaSettings, double: Double, change: dict[str, Any], raised: type[Exception], says: str
) -> None:
    with pytest.raises(raised, match=says) as error, Egeria(reach.model_copy(update=change)) as egeria:
        find(egeria, "p")
    assert "\n" not in str(error.value) and double.password not in str(error.value).split()
    assert not double.asked


def test_anybody_is_trusted_where_asked_for(reach: EgeriaSettings) -> None:
    with Egeria(reach.model_copy(update={"ca_file": None, "verify_tls": False})) as egeria:
        assert not find(egeria, "p")


def test_a_process_that_dies_is_started_anew(egeria: Egeria, double: Double) -> None:
    find(egeria, "p")
    client = egeria._client
    assert client is not None
    client._process.kill()
    with pytest.raises(EgeriaUnavailable, match="ended"):
        find(egeria, "p")
    assert not find(egeria, "p")


def test_the_password_is_nobody_elses_to_see(egeria: Egeria, double: Double) -> None:
    """Not among the arguments, not in the environment; nor do variables of pyegeria's own decide anything."""
    find(egeria, "p")
    assert egeria._client is not None
    about = Path(f"/proc/{egeria._client._process.pid}")
    seen = (about / "cmdline").read_bytes() + (about / "environ").read_bytes()
    assert double.password.encode() not in seen.replace(b"=", b"\0").split(b"\0")


RECORDED = Path("../shared/reference/pyegeria-recordings")


@pytest.mark.skipif(not RECORDED.is_dir(), reason="../shared is not here")
def test_requests_are_those_that_were_recorded(egeria: Egeria, double: Double) -> None:
    """pyegeria makes of our calls what it made of the same ones when they were recorded: paths and bodies."""
    recorded = {
        name: [call for call in each["calls"] if call["path"] != "/api/about"][-1]
        for file in ("b", "c", "e", "h")
        for name, each in json.loads((RECORDED / f"{file}.json").read_text()).items()
        if any(call["path"] != "/api/about" for call in each["calls"])
    }
    subject = double.add("DeployedSoftwareComponent", "p")
    other = double.add("DataSet", "d")
    double.elements[subject].classifications["RunMetrics"] = {}
    calls = {
        "c.link_lineage_DataFlow": (
            "link_lineage",
            {"element_one_guid": subject, "relationship_type_name": "DataFlow", "element_two_guid": other},
        ),
        "e.create_process": ("create_asset", {}),
        "e.link_process_hierarchy": (
            "link_process_hierarchy",
            {"parent_process_guid": subject, "child_process_guid": other},
        ),
        "h.add_data_scope": ("add_data_scope", {"element_guid": other}),
        "h.update_data_scope": ("update_data_scope", {"element_guid": other}),
        "h.expert.reclassify_RunMetrics": (
            "reclassify",
            {"metadata_element_guid": subject, "classification_name": "RunMetrics"},
        ),
    }
    for name, (call, given) in calls.items():
        double.asked.clear()
        egeria.call(call, **given, body=recorded[name]["body"])
        asked = double.asked[-1]
        pattern = recorded[name]["path"].partition("/api/open-metadata/")[2]
        ours = [part for part in asked.path.split("/") if part not in (subject, other)]
        theirs = [part for part in pattern.split("/") if not part.startswith("11111111-")]
        assert (ours, asked.body) == (theirs, recorded[name]["body"]), name
