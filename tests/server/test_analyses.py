"""Analyses over HTTP: the same answers as on the command line, and nobody else has to wait for them."""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import ExitStack
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

import pytest

from lineagelog.analysis import analyses
from lineagelog.read import Reader
from lineagelog.read.analyses import Terms
from lineagelog.server import Limits, create_app
from lineagelog.store.ledgers.tokens import Tokens
from tests.analysis.support import dataset, day, run
from tests.support import connect, run_here

from .client import BATCH, LINEAGE, Response, encoded, request
from .conftest import served

if TYPE_CHECKING:
    from collections.abc import Callable

    from lineagelog.store import LogStore

    from .conftest import Serve

WINDOW = {"since": "2026-03-06", "until": "2026-03-12"}
SLEEPING = "SELECT pid FROM pg_stat_activity WHERE state = 'active' AND query ~ '^SELECT pg_sleep' AND datname = %s"


def asked(url: str, name: str, headers: dict[str, str] | None = None, **parameters: Any) -> Response:
    query = f"?{urlencode(parameters)}" if parameters else ""
    return request(url, f"/api/v1/analyses/{name}{query}", headers=headers)


def fill(url: str) -> None:
    """The job load loses an input on 8 March, and a column of what it writes becomes another."""
    old, new = dataset("x", columns={"id": "int"}), dataset("x", columns={"id": "text"})
    runs = [
        *(run("load", day(each), [dataset("a"), dataset("b")], [old]) for each in range(5)),
        *(run("load", day(each), [dataset("a")], [new]) for each in range(5, 10)),
        run("report", day(9), [dataset("x")], [dataset("y")]),
    ]
    assert request(url, BATCH, json.dumps([event for events in runs for event in events])).status == 204


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("lineage_drift", WINDOW),
        ("schema-drift", {**WINDOW, "as_of": "2026-03-20"}),
        ("column_lineage_drift", WINDOW),
        ("lineage_drift", {"since": "all", "until": "2026-03-12"}),
        ("blast_radius", {**WINDOW, "dataset": "x", "dataset_namespace": "postgres://db:5432", "depth": "3"}),
    ],
)
def test_the_same_as_on_the_command_line(url: str, store_url: str, name: str, parameters: dict[str, str]) -> None:
    """`lineagelog analyse NAME --json` and HTTP give one document."""
    fill(url)
    answer = asked(url, name, **parameters)
    options = [part for key, value in parameters.items() for part in (f"--{key.replace('_', '-')}", value)]
    told = run_here("analyse", name, *options, "--json", "--database", store_url)
    assert answer.status == 200
    assert answer.json == told.json
    assert bool(answer.json["findings"]) == (name != "column_lineage_drift")


def test_the_list(url: str) -> None:
    """Each with its question and its parameters."""
    items = request(url, "/api/v1/analyses").json["items"]
    assert [item["name"] for item in items] == list(analyses())
    for item in items:
        declared = analyses()[item["name"]]
        assert item["question"] == declared.question
        assert [(each["name"], each["schema"]) for each in item["parameters"]] == [
            (each.name, each.json_schema) for each in declared.parameters
        ]
    assert next(item for item in items if item["name"] == "blast_radius")["one_of"] == ["dataset", "run_id"]


@pytest.mark.parametrize(
    ("name", "parameters", "parameter", "says"),
    [
        ("blast_radius", {}, "dataset", "give one of them"),
        ("blast_radius", {"dataset": "x", "run_id": "y"}, "dataset", "give one of them"),
        ("blast_radius", {"dataset": "x", "depth": "0"}, "depth", "a number from 1 to 99"),
        ("blast_radius", {"dataset": "x", "depth": "1; DROP"}, "depth", "a number from 1 to 99"),
        ("blast_radius", {"dataset": "a\0b"}, "dataset", "NUL"),
        ("run_profile", {"history": "soon"}, "history", "one of digest, events"),
        (
            "data_scope",
            {"since": "all", "until": "2026-03-01", "as_of": "2026-03-02"},
            "as_of",
            "is the end of the window",
        ),
        ("lineage_drift", {"dataset": "x"}, "dataset", "known: since, until, as_of"),
        ("lineage_drift", {"limit": "5"}, "limit", "known: since, until, as_of"),
        ("lineage_drift", {"since": "yesterday"}, "since", "no time"),
        ("lineage_drift", {"as_of": ""}, "as_of", "no time"),
        ("lineage_drift", {"since": "2026-03-02", "until": "2026-03-01"}, "until", "before since"),
    ],
)
def test_bad_parameters_are_named(url: str, name: str, parameters: dict[str, str], parameter: str, says: str) -> None:
    """400, by the parameter's name, with what would be right."""
    answer = asked(url, name, **parameters)
    assert (answer.status, answer.json["reason"], answer.json["parameter"]) == (400, "bad_parameter", parameter)
    assert says in answer.json["message"]


@pytest.mark.parametrize("name", ["nothing", "blast_radius%2F", "_", "..%2F..%2Fsql", "analyses;"])
def test_an_unknown_analysis_is_404(url: str, name: str) -> None:
    """With those there are."""
    answer = request(url, f"/api/v1/analyses/{name}")
    assert answer.status == 404
    assert "blast_radius" in answer.json["message"]


def test_tokens(serve: Serve, store: LogStore) -> None:
    """Scope read; a token that is bound to namespaces is told why it is refused, and may see what there is."""
    tokens = Tokens(store.database)
    made = {
        scope: {"Authorization": f"Bearer {tokens.create('t', [scope], namespaces=names)[0]}"}
        for scope, names in (("read", None), ("ingest", None), ("admin", ["shop"]))
    }
    url = serve(tokens=tokens)
    assert asked(url, "lineage_drift", made["read"]).status == 200
    assert asked(url, "lineage_drift", made["ingest"]).status == 403
    assert asked(url, "lineage_drift").status == 401
    bound = asked(url, "lineage_drift", made["admin"])
    assert bound.status == 403
    assert "bound to namespaces" in bound.json["message"]
    assert request(url, "/api/v1/analyses", headers=made["admin"]).status == 200


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Analyses that never end by themselves."""
    monkeypatch.setattr("lineagelog.read.analyses.sql_text", lambda _: "SELECT pg_sleep(3600)")


@pytest.mark.usefixtures("endless")
def test_the_time_limit_is_503(serve: Serve) -> None:
    """It says which analysis, after how long, and what to do."""
    answer = asked(serve(limits=Limits(analyses=Terms(time_limit=timedelta(seconds=0.2)))), "lineage_drift")
    assert (answer.status, answer.json["reason"]) == (503, "analysis_stopped")
    assert "lineage_drift was stopped after 0.2 s" in answer.json["message"]
    assert "analyse.time_limit" in answer.json["message"]


@pytest.mark.usefixtures("endless")
def test_an_analysis_may_take_longer_than_other_reads(serve: Serve) -> None:
    """Its own limit counts, not that of the wait for a database."""
    answer = asked(
        serve(limits=Limits(analyses=Terms(time_limit=timedelta(seconds=2)), answer_timeout=0.5)), "lineage_drift"
    )
    assert answer.json["reason"] == "analysis_stopped"


@pytest.mark.usefixtures("endless")
def test_nobody_waits_for_analyses(store: LogStore) -> None:
    """More analyses than there are threads: events are stored and lists answered while they run, two at a time."""
    url, answers = store.database.url, []
    reading = store.database.with_own_pool(6)
    with (
        served(create_app(store, reader=Reader(reading))) as server,
        connect(url, autocommit=True) as other,
    ):

        def sleeping() -> list[int]:
            return [pid for (pid,) in other.execute(SLEEPING, (store.engine.url.database,)).fetchall()]

        threads = [
            threading.Thread(target=lambda: answers.append(asked(server.url, "lineage_drift").status)) for _ in range(5)
        ]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(sleeping()) == 2)
        assert request(server.url, LINEAGE, encoded()).status == 201
        assert len(request(server.url, "/api/v1/runs").json["items"]) == 1
        assert (len(sleeping()), answers) == (2, [])

        def end() -> bool:
            found = sleeping()
            assert len(found) <= 2
            for pid in found:
                other.execute("SELECT pg_cancel_backend(%s)", (pid,))
            return len(answers) == len(threads)

        wait_until(end)
        for thread in threads:
            thread.join(60)
    reading.dispose()
    assert answers == [503] * len(threads)


@pytest.mark.usefixtures("endless")
@pytest.mark.parametrize("waiting", [0, 3])
def test_an_analysis_whose_client_has_gone_is_cancelled(serve: Serve, store: LogStore, waiting: int) -> None:
    """The statement ends in the database, and those that waited behind it are never begun."""
    address = urlsplit(serve())
    with connect(store.database.url, autocommit=True) as other, ExitStack() as clients:

        def sleeping() -> int:
            return len(other.execute(SLEEPING, (store.engine.url.database,)).fetchall())

        def ask() -> socket.socket:
            client = clients.enter_context(socket.create_connection((address.hostname, address.port)))
            client.sendall(b"GET /api/v1/analyses/lineage_drift HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return client

        asking = [ask() for _ in range(1 + waiting)]
        wait_until(lambda: sleeping() == min(1 + waiting, 2))
        for client in asking[1:] + asking[:1]:
            client.close()
        wait_until(lambda: sleeping() == 0)
        ask()
        wait_until(lambda: sleeping() == 1)  # there is room again


def wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)
