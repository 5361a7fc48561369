"""Reads as JSON, the server's own paths, and that the OpenAPI document tells the truth about all of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import jsonschema_rs
import pytest

from lineagelog.analysis import analyses
from lineagelog.server import create_app
from lineagelog.server.paths import BATCH as BATCH_PATHS
from lineagelog.server.paths import SINGLE
from lineagelog.server.reading import openapi

from .client import BATCH, LINEAGE, Response, encoded, event, request
from .conftest import served

if TYPE_CHECKING:
    from lineagelog.store import LogStore

    from .conftest import Serve

ODD = "odd/run id?&#%é"
SAYINGS = ("acknowledge", "mute", "unmute")
READS = ("runs", "run-datasets", "assertions", "tests", "events")
EXPLORED = ("executions", "executions/{run_id}", "trends", "graph", "find")


def fill(url: str) -> None:
    """Seven runs of two jobs, with an assertion, a test, and a run id of odd characters."""
    assertion = {"dataQualityAssertions": {"assertions": [{"assertion": "unique", "column": "id", "success": True}]}}
    tests = {"test": {"tests": [{"name": "t", "status": "pass"}]}}
    events = [event(number) for number in range(5)]
    events.append(
        event(5, run={"runId": ODD, "facets": tests}, job={"namespace": "bank", "name": "j"}, eventType="FAIL")
    )
    events.append(event(6, inputs=[{"namespace": "db", "name": "customers", "inputFacets": assertion}]))
    assert request(url, BATCH, json.dumps(events)).status == 204


def get(url: str, path: str, **parameters: Any) -> Response:
    return request(url, f"{path}?{urlencode(parameters)}" if parameters else path)


@pytest.mark.parametrize("name", READS)
def test_pages_go_through_all_rows_once(url: str, name: str) -> None:
    """With pages of two, the cursor leads to every row exactly once, in the order of one large page."""
    fill(url)
    path = f"/api/v1/{name}"
    whole = get(url, path, limit=1000).json
    assert whole["items"]
    assert whole["next_cursor"] is None
    found: list[Any] = []
    page = get(url, path, limit=2).json
    while True:
        found += page["items"]
        if page["next_cursor"] is None:
            break
        page = get(url, path, limit=2, cursor=page["next_cursor"]).json
    assert found == whole["items"]


def test_filters(url: str) -> None:
    """Job, namespace, dataset, status, period."""
    fill(url)

    def ids(**parameters: Any) -> list[str]:
        return [item["run_id"] for item in get(url, "/api/v1/runs", **parameters).json["items"]]

    assert ids(namespace="bank") == [ODD]
    assert ids(job="j") == [ODD]
    assert ids(status="fail") == [ODD]
    assert ids(dataset="customers", dataset_namespace="db") == ["run-6"]
    assert ids(since="2026-03-02T10:00:05Z") == [ODD, "run-6"]
    assert ids(since="2026-03-02T10:00:01Z", until="2026-03-02T10:00:03Z") == ["run-1", "run-2"]
    assert ids(since="2026-03-02", until="2026-03-03", limit=1) == ["run-0"]
    assert request(url, "/api/v1/runs?since=2026-03-02T12:00:06+02:00").json["items"][0]["run_id"] == "run-6"
    assert len(ids(until="-1h")) == 7
    assert len(ids(until="now")) == 7
    assert len(get(url, "/api/v1/run-datasets", direction="I").json["items"]) == 1
    assert len(get(url, "/api/v1/assertions", success="true", dataset="customers").json["items"]) == 1
    assert get(url, "/api/v1/assertions", success="false").json["items"] == []
    assert len(get(url, "/api/v1/tests", status="pass").json["items"]) == 1


def test_newest_first(url: str) -> None:
    """Every list the other way round, by pages whose cursors go on in that order only."""
    fill(url)
    for name in READS:
        path = f"/api/v1/{name}"
        forward = get(url, path, limit=1000).json["items"]
        page = get(url, path, limit=2, reverse="true").json
        found = [*page["items"]]
        while (cursor := page["next_cursor"]) is not None:
            assert get(url, path, limit=2, cursor=cursor).json["parameter"] == "cursor"
            page = get(url, path, limit=2, reverse="true", cursor=cursor).json
            found += page["items"]
        assert found == forward[::-1] or (name == "run-datasets" and len(found) == len(forward))


@pytest.mark.parametrize("form", ["path", "parameter"])
def test_one_run_by_an_id_of_any_characters(url: str, form: str) -> None:
    """In the path, encoded, or as a parameter."""
    fill(url)
    path = f"/api/v1/runs/{quote(ODD, safe='')}" if form == "path" else f"/api/v1/runs?{urlencode({'run_id': ODD})}"
    answer = request(url, path).json
    assert answer["run_id"] == ODD
    assert (answer["runs"][0]["status"], answer["tests"][0]["test_name"]) == ("FAIL", "t")
    assert [item["event_type"] for item in answer["events"]] == ["FAIL"]
    assert get(url, "/api/v1/runs", run_id="nobody").status == 404


def test_events_give_their_content_where_asked_for(url: str) -> None:
    """As JSON inside the answer."""
    fill(url)
    period = {"since": "2026-03-02T10:00:01Z", "until": "2026-03-02T10:00:02Z"}
    without = get(url, "/api/v1/events", **period).json["items"][0]
    content = get(url, "/api/v1/events", **period, content="true").json["items"][0]
    assert "event" not in without
    assert content["event"] == event(1)
    assert len(content["event_hash"]) == 64
    assert get(url, "/api/v1/events", content="true", limit=101).json["parameter"] == "limit"
    assert len(get(url, "/api/v1/events", event_type="fail").json["items"]) == 1


def test_summary_and_status(url: str) -> None:
    """Counts and times."""
    fill(url)
    assert get(url, "/api/v1/summary").json == {
        "event_count": 7,
        "first_event_time": "2026-03-02T10:00:00Z",
        "last_event_time": "2026-03-02T10:00:06Z",
    }
    assert get(url, "/api/v1/status").json["counts"]["ol_run"]["rows"] == 7


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("limit", "0"),
        ("limit", "1001"),
        ("limit", "ten"),
        ("limit", "9" * 5000),
        ("since", "yesterday"),
        ("until", "-5y"),
        ("cursor", "nonsense"),
        ("namespace", "a\0b"),
        ("limt", "5"),
    ],
)
def test_bad_parameter_is_400_and_named(url: str, name: str, parameter: str, value: str) -> None:
    """Also one that is misspelt."""
    answer = get(url, f"/api/v1/{name}", **{parameter: value})
    assert (answer.status, answer.json["parameter"]) == (400, parameter)


def test_window_that_ends_before_it_begins(url: str) -> None:
    """Refused, not empty."""
    assert get(url, "/api/v1/runs", since="2026-03-02", until="2026-03-01").json["parameter"] == "until"


def test_head_and_cors_of_reads(serve: Serve) -> None:
    """HEAD has no body; only configured origins may read."""
    url = serve(cors_origins=["https://ui.example.org"])
    assert (request(url, "/healthz", method="HEAD").status, request(url, "/healthz", method="HEAD").body) == (200, b"")
    mine = request(url, "/api/v1/runs", headers={"Origin": "https://ui.example.org"})
    other = request(url, "/api/v1/runs", headers={"Origin": "https://evil.example.org"})
    assert mine.headers["access-control-allow-origin"] == "https://ui.example.org"
    assert "access-control-allow-origin" not in other.headers


def test_ready_and_metrics(url: str) -> None:
    """What operators look at."""
    request(url, LINEAGE, encoded(eventTime="2026-03-02T10:00:00"))
    request(url, LINEAGE, b"{")
    ready = request(url, "/readyz")
    assert (ready.status, ready.json["status"], ready.json["store_version"] > 0) == (200, "ready", True)
    text = request(url, "/metrics").body.decode()
    for line in (
        'lineagelog_events_total{source="http",verdict="stored"} 1.0',
        'lineagelog_events_total{source="http",verdict="dead"} 1.0',
        'lineagelog_dead_letters_total{reason="not_json",source="http"} 1.0',
        'lineagelog_notices_total{code="time_without_zone"} 1.0',
        'lineagelog_http_requests_total{route="single",status="201"} 1.0',
        'lineagelog_http_requests_total{route="single",status="400"} 1.0',
        "lineagelog_append_seconds_count 2.0",
        "lineagelog_batch_events_sum 2.0",
        "lineagelog_queue_events 0.0",
    ):
        assert line in text.splitlines()


def test_server_without_reader_only_receives(store: LogStore) -> None:
    """501 for reads."""
    with served(create_app(store)) as server:
        assert request(server.url, "/api/v1/runs").status == 501
        assert request(server.url, LINEAGE, encoded()).status == 201


# --- the OpenAPI document ---------------------------------------------------------------------------------------------


def test_every_route_is_documented_and_nothing_else(url: str) -> None:
    """Each documented path answers with something else than 404, and the receiving and reading paths are all there."""
    document = request(url, "/openapi.json").json
    own = {"/healthz", "/readyz", "/metrics", "/openapi.json"}
    reads = {
        f"/api/v1/{name}" for name in (*READS, *EXPLORED, "summary", "status", "runs/{run_id}", "jobs", "datasets")
    }
    asked = {"/api/v1/analyses", *(f"/api/v1/analyses/{name}" for name in analyses())}
    kept = {f"/api/v1/findings{each}" for each in ("", "/{finding_id}", *(f"/{{finding_id}}/{say}" for say in SAYINGS))}
    assert set(document["paths"]) == set(SINGLE) | set(BATCH_PATHS) | own | reads | asked | kept
    fill(url)
    for path, operations in document["paths"].items():
        for method in operations:
            body = b"{" if method == "post" else None
            answer = request(url, path.replace("{run_id}", "run-1"), body)
            assert str(answer.status) in operations[method]["responses"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        *[
            (f"/api/v1/{name}", None)
            for name in (*READS, "summary", "status", "runs/run-6", "runs?limit=x", "runs/none")
        ],
        ("/api/v1/events?content=true", None),
        ("/api/v1/executions?limit=3", None),
        ("/api/v1/trends?since=2026-03-01&until=2026-03-03", None),
        ("/api/v1/graph?namespace=db&name=orders&compare=2026-03-01", None),
        ("/api/v1/graph?name=nothing", None),
        ("/api/v1/find?q=ord", None),
        ("/api/v1/find", None),
        ("/api/v1/analyses", None),
        ("/api/v1/findings?status=all", None),
        ("/api/v1/analyses/lineage_drift", None),
        ("/api/v1/analyses/blast_radius?dataset=orders&dataset_namespace=db&since=2026-03-01", None),
        ("/api/v1/analyses/blast_radius", None),
        ("/api/v1/runs?run_id=run-1&content=true", None),
        ("/api/v1/runs?run_id=run-1&status=FAIL", None),
        ("/api/v1/runs?reverse=true&root=run-1", None),
        ("/api/v1/runs?reverse=perhaps", None),
        ("/healthz", None),
        ("/readyz", None),
        (LINEAGE, encoded(1)),
        (LINEAGE, b"[3]"),
        (BATCH, json.dumps([event(1), {}]).encode()),
        (LINEAGE, b"{}"),
    ],
)
def test_answers_are_as_documented(url: str, path: str, body: bytes | None) -> None:
    """Status and body of real answers match the schemas of the document."""
    fill(url)
    answer = request(url, path, body)
    document = openapi.document()
    template = "/api/v1/runs/{run_id}" if path.startswith("/api/v1/runs/") else path.partition("?")[0]
    response = document["paths"][template]["post" if body is not None else "get"]["responses"][str(answer.status)]
    if "$ref" in response:
        response = document["components"]["responses"][response["$ref"].rsplit("/", 1)[1]]
    schema = response["content"]["application/json"]["schema"] | {"components": document["components"]}
    jsonschema_rs.Draft202012Validator(schema).validate(answer.json)


def test_documented_parameters_are_the_accepted_ones(url: str) -> None:
    """Every documented parameter is known to the server, and its message lists no other."""
    for name in (*READS, *(f"analyses/{name}" for name in analyses())):
        operation = openapi.document()["paths"][f"/api/v1/{name}"]["get"]
        documented = {each["name"] for each in operation["parameters"] if "only with run_id" not in each["description"]}
        message = get(url, f"/api/v1/{name}", misspelt="1").json["message"]
        accepted = set(message.partition("known: ")[2].split(", "))
        assert documented - {"run_id"} == accepted - {"run_id"}
