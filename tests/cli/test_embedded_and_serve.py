"""The database of our own, and the server over it: two commands at once, greeting, logs, a graceful stop."""

from __future__ import annotations

import http.client
import json
import os
import shlex
import signal
from pathlib import Path

import pytest

from tests.support import PATIENCE, encode, event, run_process, serve_process, wait_until


def _post(port: str, body: bytes) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=PATIENCE)
    connection.request("POST", "/api/v1/lineage", body, {"Content-Type": "application/json"})
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.mark.long
def test_serve_on_the_database_of_our_own(data_dir: Path) -> None:
    """Without --database: serve makes everything, a second command shares it, SIGTERM ends it all."""
    with serve_process(LINEAGELOG_DATA_DIR=str(data_dir)) as (process, port, said):
        assert _post(port, encode(event("over-http"))) == 201
        words = shlex.split(said[1])
        assert ["curl", f"http://127.0.0.1:{port}/api/v1/lineage"] == words[:2]
        assert _post(port, words[-1].encode()) == 201
        beside = run_process("list", "runs", "--json", "--data-dir", str(data_dir))
        assert len(beside.rows) == 2
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        assert process.stderr is not None
        logged = [json.loads(line) for line in process.stderr]
    assert [line["action"] for line in logged] == ["serve", "stop"]
    assert not (data_dir / "cluster" / "postmaster.pid").exists()
    again = run_process("load", "-", LINEAGELOG_DATA_DIR=str(data_dir), stdin=encode(event("over-http"), event("r2")))
    assert again.out.startswith("read 2 stored 1 duplicate 1 ")


@pytest.mark.long
def test_serve_starts_its_database_again(data_dir: Path) -> None:
    """The database of our own is killed under the server: it comes back by itself, with all that was acknowledged."""
    lock_file = data_dir / "cluster" / "postmaster.pid"
    with serve_process(LINEAGELOG_DATA_DIR=str(data_dir)) as (process, port, _):
        assert _post(port, encode(event("before"))) == 201
        os.kill(int(lock_file.read_text().split()[0]), signal.SIGKILL)
        statuses: list[int] = []
        wait_until(lambda: statuses.append(_post(port, encode(event("after")))) or statuses[-1] == 201)
        assert set(statuses) <= {201, 503}
        beside = run_process("list", "runs", "--json", "--data-dir", str(data_dir))
        assert {row["run_id"] for row in beside.rows} == {"before", "after"}
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        assert process.stderr is not None
        assert "the embedded PostgreSQL runs again" in process.stderr.read()
    assert not lock_file.exists()


def test_serve_stops_on_ctrl_c(database_url: str) -> None:
    """SIGINT is a graceful stop, too: exit code 0; console logs when asked for."""
    options = ("--database", database_url, "--log-format", "console", "--schema", "other")
    with serve_process(*options) as (process, port, _):
        assert _post(port, encode(event())) == 201
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
        assert process.stderr is not None
        text = process.stderr.read()
    assert "listening" in text
    assert not text.startswith("{")


@pytest.mark.long
def test_serve_refuses_what_it_cannot_do(database_url: str, tmp_path: Path) -> None:
    """A port in use, an address open to others without a token, TLS files that are not there: one line, exit code 2."""
    with serve_process("--database", database_url) as (_, port, _):
        ran = run_process("serve", "--database", database_url, "--port", port)
        assert (2, f"lineagelog: cannot listen on 127.0.0.1:{port}: Address already in use\n") == (ran.code, ran.err)
    ran = run_process("serve", "--database", database_url, "--port", "0", "--host", "0.0.0.0")
    assert (ran.code, "lineagelog tokens create" in ran.err) == (2, True)
    missing = str(tmp_path / "cert.pem")
    ran = run_process("serve", "--database", database_url, "--port", "0", "--tls-cert", missing)
    assert (ran.code, missing in ran.err) == (2, True)


@pytest.mark.long
def test_a_token_closes_the_server(database_url: str) -> None:
    """Once there is a token nobody posts without it; the token that `tokens create` prints opens."""
    run_process("store", "init", "--database", database_url)
    made = run_process("tokens", "create", "airflow", "--database", database_url)
    with serve_process("--database", database_url) as (_, port, _):
        assert _post(port, encode(event())) == 401
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=PATIENCE)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {made.out.strip()}"}
        connection.request("POST", "/api/v1/lineage", encode(event()), headers)
        assert connection.getresponse().status == 201
        connection.close()
