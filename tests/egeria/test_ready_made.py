"""The requests under config/egeria: what they name is in the jars, and the README's calls send them as it says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from lineagelog.egeria import Connectors, Defaults
from lineagelog.egeria.metrics import DaemonMetrics
from tests.support import PATIENCE, ROOT, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = ROOT / "config" / "egeria"
FILES = sorted(FOLDER.rglob("*.json"))
OURS = FOLDER / "6.0" / "lineagelog-connector"
GROUP = "e6946ed7-ec34-479a-83b3-b22aa9e5cd7f"
API_PUBLISHER = "2156bc98-973a-4859-908d-4ccc96f53cc5"
KAFKA_LISTENER = "980b989c-de78-4e6a-a58d-51049d7381bf"
NAMES = {
    "org.odpi.openmetadata.adapters.connectors.integration.openlineage.APIBasedOpenLineageLogStoreProvider",
    "org.odpi.openmetadata.adapters.connectors.integration.openlineage.OpenLineageEventReceiverIntegrationProvider",
    "org.odpi.openmetadata.adapters.eventbus.topic.kafka.KafkaOpenMetadataTopicProvider",
    "io.github.lineagelog.egeria.v4.LineagelogProvider",
    "io.github.lineagelog.egeria.v6.LineagelogProvider",
}
"""Provider classes: Egeria's own, as in its sources, and ours."""

type Seen = list[tuple[str, dict[str, Any], str | None]]
"""Path, body and Authorization of each request."""


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _values(value: Any, key: str) -> Iterator[Any]:
    """Every value of a key, at any depth."""
    if isinstance(value, dict):
        yield from ([value[key]] if key in value else [])
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _values(item, key)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_file_is_a_request_with_known_providers(path: Path) -> None:
    """Each file is a JSON object with Egeria's class of a request, and names no provider that does not exist."""
    request = _read(path)
    assert request["class"].endswith(("RequestBody", "IntegrationGroupConfig"))
    assert set(_values(request, "connectorProviderClassName")) <= NAMES
    assert not {"clearPassword", "securedProperties"} & {
        key for found in _values(request, "connection") for key in found
    }


def _platform(era: str, tmp_path: Path, connection: dict[str, Any]) -> dict[str, Any]:
    """The connector as the stand-in daemon made it from a connection; its start fails, as no Python is attached."""
    if not (shutil.which("javac") and shutil.which("mvn")):
        pytest.skip("needs a JDK and Maven: javac and mvn on the PATH")
    built = subprocess.run(["make", "-s", "jar", "standin"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    config, port = tmp_path / "config.json", tmp_path / "port"
    connectors = [{"name": "made", "connection": connection}]
    config.write_text(json.dumps({"portFile": str(port), "connectors": connectors}))
    jars = [ROOT / "jars" / "standin" / "target" / era / "lib", ROOT / "connector" / "lineagelog" / "egeria" / "jars"]
    command = [
        "java",
        "-cp",
        ":".join(f"{jar}/*" for jar in jars),
        "io.github.lineagelog.egeria.standin.StandIn",
        config,
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: port.exists() or process.poll() is not None)
            assert port.exists()
            with urllib.request.urlopen(f"http://127.0.0.1:{port.read_text()}/test/status", timeout=PATIENCE) as answer:
                (made,) = json.loads(answer.read())["connectors"]
        finally:
            process.terminate()
    assert "lineagelog daemon" in made["error"]
    return dict(made["connectorType"])


@pytest.mark.long
def test_connector_of_egeria_4_is_made_from_its_connection(tmp_path: Path) -> None:
    """The real ConnectorBroker finds the provider, which recognises every property that the file sets."""
    (connector,) = _read(FOLDER / "4.3" / "lineagelog-connector.json")["integrationConnectorConfigs"]
    made = _platform("4.3", tmp_path, connector["connection"])
    assert made["connectorProviderClassName"] == connector["connection"]["connectorType"]["connectorProviderClassName"]
    assert connector["connection"]["configurationProperties"].keys() <= set(made["recognizedConfigurationProperties"])
    assert made["guid"] == "0b2df094-9786-46fa-b7bc-2d0e72160f9b"


def test_connector_of_egeria_6_is_made_from_its_elements(tmp_path: Path) -> None:
    """Type, endpoint and connection give the connector; the type in the file says what the provider says."""
    parts = ("connector-type", "endpoint", "connection")
    kind, endpoint, connection = (_read(OURS / f"{part}.json")["properties"] for part in parts)
    made = _platform("6.0", tmp_path, {**connection, "connectorType": kind, "endpoint": endpoint})
    told = {key: made[key] for key in kind if key != "class"}
    assert told == {key: value for key, value in kind.items() if key != "class"}
    assert connection["configurationProperties"].keys() <= set(made["recognizedConfigurationProperties"])
    assert made["guid"] == "9430969c-4a0c-4926-acbb-01e2749c569a"


def test_api_log_store_posts_to_a_path_with_its_token() -> None:
    """Egeria's connector sends no header, so that the token is in the path that `lineagelog serve` takes it from."""
    (connector,) = _read(FOLDER / "4.3" / "api-log-store.json")["integrationConnectorConfigs"]
    endpoint = _read(FOLDER / "6.0" / "api-log-store" / "endpoint.json")["properties"]
    assert connector["connection"]["endpoint"]["address"] == endpoint["networkAddress"]
    assert endpoint["networkAddress"].endswith("/t/TOKEN/api/v1/lineage")


class _Egeria(BaseHTTPRequestHandler):
    """Takes every request, keeps it, and answers with a GUID of its own, or with a token."""

    seen: Seen

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append((self.path, body, self.headers["Authorization"]))
        number = len(self.seen)
        answer = b"a-token" if self.path.endswith("/api/token") else json.dumps({"guid": f"guid-{number}"}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing: the test reads what was seen."""


@pytest.fixture
def egeria() -> Iterator[tuple[str, Seen]]:
    handler = type("Handler", (_Egeria,), {"seen": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}", handler.seen
        server.shutdown()


@pytest.mark.skipif(not shutil.which("curl"), reason="the README's calls are curl's")
def test_calls_of_the_readme_send_every_file(egeria: tuple[str, Seen]) -> None:
    """Run as written, the README's calls send each file, and the identifier in an answer goes into the next call."""
    url, seen = egeria
    blocks = re.findall(r"```sh\n(.*?)```", (FOLDER / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    script = "set -eu\n" + "".join(blocks).replace("https://localhost:9443", url)
    done = subprocess.run(["bash", "-c", script], cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    sent = [json.dumps(body, sort_keys=True) for _, body, _ in seen]
    for path in FILES:
        assert sent.count(json.dumps(_read(path), sort_keys=True)) == (3 if path.name == "link.json" else 1), path
    view = "/servers/view-server/api/open-metadata"
    paths = [path for path, _, _ in seen]
    assert any(
        re.fullmatch(rf"{view}/asset-maker/integration-connectors/{API_PUBLISHER}/catalog-targets/guid-\d+", path)
        for path in paths
    )
    assert any(
        re.fullmatch(rf"{view}/asset-maker/integration-connectors/{KAFKA_LISTENER}/catalog-targets/guid-\d+", path)
        for path in paths
    )
    attached = [path for path in paths if path.endswith("/attach")]
    assert len(attached) == 3
    assert all(re.search(r"/guid-\d+/\S+/guid-\d+/attach$", path) for path in attached)
    assert all(
        (token == "Bearer a-token") == (not path.endswith("/api/token") and "/users/" not in path)
        for path, _, token in seen
    )


def test_our_connector_joins_the_group_that_the_daemon_runs() -> None:
    """The connector becomes a member of the content pack's group, which the daemon's configuration names."""
    connector = _read(OURS / "integration-connector.json")
    assert (connector["parentGUID"], connector["parentRelationshipTypeName"]) == (
        GROUP,
        "RegisteredIntegrationConnector",
    )
    group = _read(FOLDER / "6.0" / "integration-group.json")
    assert group["integrationGroupQualifiedName"] == "Egeria:IntegrationGroup:OpenLineage"


def test_page_explains_every_metric(tmp_path: Path) -> None:
    """docs/egeria.md names each metric of the daemon, and no other."""
    page = (ROOT / "docs" / "egeria.md").read_text(encoding="utf-8")
    section = page[page.index("### Metrics") : page.index("### Sizing")]
    defaults = Defaults(
        schema="s",
        spool_folder=tmp_path,
        spool_max_bytes=1,
        wait_seconds=0,
        strict=False,
        max_event=1,
        max_event_values=1_000_000,
        own_place="here",
    )
    families = DaemonMetrics(Connectors(cast("Any", None), defaults)).collect()
    there = {family.name + ("_total" if family.type == "counter" else "") for family in families}
    assert set(re.findall(r"`(lineagelog_[a-z_]+)", section)) == there


def test_page_explains_every_message_and_property() -> None:
    """docs/egeria.md lists what the sources have: each audit message with its severity, each configuration property."""
    page = (ROOT / "docs" / "egeria.md").read_text(encoding="utf-8")
    sources = {
        path.name: path.read_text(encoding="utf-8")
        for path in (ROOT / "jars" / "connector").rglob("src/main/**/*.java")
    }
    severities = dict(re.findall(r'(\w+)\(\d+, "(\w+)"', sources["Severity.java"]))
    messages = re.findall(r'"(LINEAGELOG-CONNECTOR-\d{4})",\s+Severity\.(\w+)', sources["AuditCode.java"])
    told = re.findall(r"^\| `(LINEAGELOG-CONNECTOR-\d{4})` \| (\w+) \|", page, re.MULTILINE)
    assert told == [(message, severities[severity]) for message, severity in messages]
    properties = re.findall(r'[A-Z_]+\("(\w+)", "', sources["ConfigurationProperty.java"])
    assert len(properties) == 7
    assert [name for name in re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) if name in properties] == properties
