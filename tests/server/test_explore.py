"""Executions, trends, graph and search over HTTP: as people see the example day, and as far as a token sees it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import pytest

from lineagelog.read import Reader
from lineagelog.server import create_app
from lineagelog.store.ledgers.tokens import Tokens
from tests.support import ROOT, event

from .client import BATCH, request
from .conftest import served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lineagelog.store import LogStore

    type Get = Callable[..., Any]

DAY = {"since": "2026-11-20", "until": "2026-11-21"}
LAKE, SHOP = "s3://kestrel-lake", "postgres://shop-db.kestrel.example:5432"
EVIL = ["<script>alert(1)</script>", "a/b c?d#e%2F:1", "s3://b/c", "\u202eevil", "\U0001f4a9", "x" * 65_536]


@pytest.fixture
def get(store: LogStore) -> Iterator[Get]:
    """Asks a server over the example day; gives what it answers."""
    with served(create_app(store, reader=Reader(store.database))) as server:
        for file in sorted((ROOT / "examples").glob("*.ndjson")):
            assert request(server.url, BATCH, file.read_bytes()).status == 204

        def asked(path: str, **parameters: Any) -> Any:
            return request(server.url, f"/api/v1/{path}?{urlencode(parameters)}").json

        yield asked


def test_attempts_at_one_task_are_one_execution(get: Get) -> None:
    """The failed extract that its retry made good is fixed, and not among those that failed."""
    rows = get("executions", **DAY)["items"]
    assert len(rows) == 37
    (fixed,) = [row for row in rows if row["state"] == "fixed"]
    assert (fixed["job_name"], fixed["earlier"]) == ("shop_ingest.extract_payments", ["FAIL"])
    failed = get("executions", **DAY, state="failed")["items"]
    assert {row["job_name"] for row in failed} == {"kestrel_shop.mart_daily_revenue.test", "dbt-run-kestrel_shop"}
    one = get(f"executions/{fixed['run_id']}")
    assert [each["state"] for each in one["attempts"]] == ["failed", "fixed"]
    parent = get(f"executions/{fixed['parent_run_id']}")
    assert {each["job_name"].partition(".")[0] for each in parent["children"]} == {"shop_ingest"}
    assert get("executions/nobody")["code"] == 404


@pytest.mark.parametrize("reverse", ["true", "false"])
def test_pages_of_executions_go_through_all_once(get: Get, reverse: str) -> None:
    """By pages of five, in either order."""
    whole = get("executions", reverse=reverse)["items"]
    found, page = [], get("executions", reverse=reverse, limit=5)
    while True:
        found += page["items"]
        if page["next_cursor"] is None:
            break
        page = get("executions", reverse=reverse, limit=5, cursor=page["next_cursor"])
    assert found == whole
    assert [row["first_event_time"] for row in whole] == sorted(
        (row["first_event_time"] for row in whole), reverse=reverse == "true"
    )


def test_trends_count_every_execution_once(get: Get) -> None:
    """Hours without a gap; by outcome they add up to the executions."""
    hours = get("trends", **DAY)["spans"]
    assert len(hours) == 24
    sums = {name: sum(hour[name] for hour in hours) for name in ("completed", "fixed", "failed", "aborted", "running")}
    assert sums == {"completed": 32, "fixed": 1, "failed": 2, "aborted": 1, "running": 1}
    assert len(get("trends", **DAY, step="day")["spans"]) == 1
    assert get("trends", since="all")["parameter"] == "since"


def test_the_graph_has_what_lies_around_a_dataset(get: Get) -> None:
    """Hop by hop, with states; compared with a time before, all is new; what is not drawn is counted."""
    near = get("graph", namespace=LAKE, name="landing/orders", up=1, down=1)
    assert {node["name"]: node["hop"] for node in near["nodes"]} == {
        "landing/orders": 0,
        "shop_ingest.extract_orders": -1,
        "nightly_silver.clean_orders": 1,
    }
    assert len(near["edges"]) == 2
    far = get("graph", namespace=LAKE, name="landing/orders", up=9, down=20)
    assert (far["total"], far["shown"]) == (len(far["nodes"]), len(far["nodes"]))
    assert far["total"] > 10
    small = get("graph", namespace=LAKE, name="landing/orders", up=9, down=20, nodes=4)
    assert small["shown"] + sum(group["count"] for group in small["groups"]) == small["total"] == far["total"]
    assert all(group["a"] or group["b"] for group in small["groups"][:1])
    then = get("graph", namespace=LAKE, name="landing/orders", compare="2026-11-20T02:30:00Z", down=2)
    assert {node["name"]: node["change"] for node in then["nodes"]}["dwh.silver.orders"] == "new"
    early = get("graph", namespace=LAKE, name="landing/orders", as_of="2026-11-20T02:30:00Z", down=5)
    assert {node["kind"] for node in early["nodes"] if node["hop"] > 0} == set()
    assert get("graph", name="nothing")["code"] == 404


def test_the_graph_of_columns(get: Get) -> None:
    """What feeds a column, and what it feeds."""
    answer = get("graph", kind="column", namespace=LAKE, name="landing/orders", column="order_id", down=3)
    assert {node["column"] for node in answer["nodes"] if node["hop"] == 1} >= {"order_id"}


def test_search_finds_each_kind(get: Get) -> None:
    """Jobs, datasets, columns, and runs by their error and their id."""
    kinds = {hit["kind"] for hit in get("find", q="revenue")["items"]}
    assert kinds == {"job", "dataset", "column", "run"}
    (run,) = get("find", q="timeout expired", kind="run")["items"]
    assert get("find", q=run["run_id"])["items"][0]["run_id"] == run["run_id"]
    assert get("find", q="100% sure")["items"] == []
    assert get("find", q=" ")["parameter"] == "q"


def test_an_answer_that_is_known_is_not_sent_again(store: LogStore) -> None:
    """304 for its ETag, of lists and of what is looked at."""
    with served(create_app(store, reader=Reader(store.database))) as server:
        for path in ("/api/v1/runs", "/api/v1/executions", "/api/v1/status"):
            first = request(server.url, path)
            again = request(server.url, path, headers={"If-None-Match": f'"other", W/{first.headers["etag"]}'})
            assert (first.status, again.status in (304, 200)) == (200, True)
            assert again.status == 304 or path.endswith("status")  # which tells sizes that change
            assert again.status == 200 or again.body == b""


def test_a_bound_token_sees_its_own_and_counts_of_others(store: LogStore) -> None:
    """In executions, trends, graph and search."""
    tokens = Tokens(store.database)
    token, _ = tokens.create("t", ["read"], namespaces=["airflow-kestrel"])
    everything, _ = tokens.create("all", ["admin"])
    with served(create_app(store, reader=Reader(store.database), tokens=tokens)) as server:
        whole = {"Authorization": f"Bearer {everything}"}
        for file in sorted((ROOT / "examples").glob("*.ndjson")):
            assert request(server.url, BATCH, file.read_bytes(), headers=whole).status == 204

        def asked(path: str, headers: dict[str, str] | None = None, **parameters: Any) -> Any:
            headers = headers or {"Authorization": f"Bearer {token}"}
            return request(server.url, f"/api/v1/{path}?{urlencode(parameters)}", headers=headers).json

        rows = asked("executions")["items"]
        assert {row["job_namespace"] for row in rows} == {"airflow-kestrel"}
        other = next(row for row in asked("executions", whole)["items"] if row["job_namespace"] != "airflow-kestrel")
        assert asked(f"executions/{other['run_id']}")["code"] == 404
        assert sum(sum(v for k, v in span.items() if k != "at") for span in asked("trends", **DAY)["spans"]) == len(
            rows
        )
        graph = asked("graph", namespace=LAKE, name="landing/orders", up=9, down=9)
        assert [node["namespace"] for node in graph["nodes"] if node["kind"] == "job"] == ["airflow-kestrel"]
        assert {node["name"]: node["hidden"] for node in graph["nodes"]}["landing/orders"] == 1
        assert asked("graph", namespace="dbt-kestrel", name="dwh.mart.fct_orders")["code"] == 404
        for word in ("revenue", "silver", "kestrel"):
            for hit in asked("find", q=word)["items"]:
                assert hit["namespace"] in ("airflow-kestrel", LAKE, SHOP), hit


@pytest.mark.parametrize("name", EVIL, ids=["markup", "odd", "url", "direction", "emoji", "64 KiB"])
def test_names_of_any_kind(store: LogStore, name: str) -> None:
    """They are found, and are the middle of a graph; a long one by its key."""
    job, outputs = {"namespace": name, "name": name}, [{"namespace": name, "name": name}]
    with served(create_app(store, reader=Reader(store.database))) as server:
        assert request(server.url, BATCH, json.dumps([event(job=job, outputs=outputs)])).status == 204
        (row,) = request(server.url, "/api/v1/executions").json["items"]
        assert row["job_name"] == name
        asked = {"kind": "job", "name": f"~{row['job_key']}"}
        if len(name) < 1000:
            asked = {"kind": "job", "namespace": name, "name": name}
        answer = request(server.url, f"/api/v1/graph?{urlencode(asked)}").json
        assert [node["name"] for node in answer["nodes"]] == [name, name]
        found = request(server.url, f"/api/v1/find?q={quote(name[:40])}").json["items"]
        assert {hit["kind"] for hit in found} == {"job", "dataset"}
