"""`forward NAME --probe`: what is asked, what is said of it, and what is remembered."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from lineagelog.store import LogStore
from lineagelog.store.ledgers.forwarding import NOT_BEGUN, Forwarding
from tests.cli.conftest import Ran, no_settings_of_the_machine, run

from .conftest import count, event, store_all
from .receiver import Reply, Request, Script, receiving

__all__ = ["no_settings_of_the_machine", "run"]

type Run = Callable[..., Ran]

PAGE = b"<!doctype html><title>Sign in</title>"
HTML = {"Content-Type": "text/html"}


def marquez(request: Request) -> Reply:
    """Takes one event at a time; an array is no event."""
    if request.path.endswith("/batch"):
        return Reply(404, b'{"code": 404, "message": "HTTP 404 Not Found"}')
    return Reply(201) if request.body.startswith(b"{") else Reply(400, b"Unable to process JSON")


def bare(status: int, body: bytes = b"") -> Script:
    return lambda _: Reply(status, body)


def batch_says(status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> Script:
    """Single requests are taken."""
    return lambda r: Reply(status, body, headers or {}) if r.path.endswith("/batch") else Reply(200)


@pytest.fixture
def configure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Writes the section [forward.other] of a settings file that commands read."""

    def write(url: str, **values: str) -> None:
        lines = "".join(f'{key} = "{value}"\n' for key, value in values.items())
        (tmp_path / "lineagelog.toml").write_text(f'[forward.other]\nurl = "{url}"\n{lines}in_flight = 1\n')
        monkeypatch.setenv("LINEAGELOG_CONFIG", str(tmp_path / "lineagelog.toml"))

    return write


@pytest.mark.long
@pytest.mark.parametrize(
    ("script", "settings", "code", "path", "auth", "batches", "words"),
    [
        (marquez, {}, 0, "right", "accepted", False, "events go one by one"),
        (bare(204), {}, 0, "right", "accepted", True, "Batches are taken"),
        (bare(200, b'{"status": "success"}'), {"batch": "events"}, 0, "right", "accepted", True, "Batches are taken"),
        (batch_says(405), {}, 0, "right", "accepted", False, "events go one by one"),
        (batch_says(501), {}, 0, "right", "accepted", False, "events go one by one"),
        (batch_says(200, PAGE, HTML), {}, 0, "right", "accepted", False, "events go one by one"),
        (batch_says(422, b"empty"), {}, 0, "right", "accepted", None, "the first forward finds out"),
        (batch_says(404), {"batch": "array"}, 2, "right", "accepted", False, "take batch = 'array' out of"),
        (bare(200), {"batch": "never"}, 0, "right", "accepted", None, "path and authentication are right"),
        (bare(401, b"who?"), {}, 2, "unknown", "refused", None, "refuses us (HTTP 401: who?): look at auth"),
        (bare(404), {}, 2, "wrong", "unknown", None, "look at url of [forward.other]"),
        (lambda _: Reply(200, PAGE, HTML), {}, 2, "unknown", "unknown", None, "HTTP 200 with text/html is no answer"),
        (lambda _: Reply(302, headers={"Location": "/login"}), {}, 2, "unknown", "unknown", None, "redirect to /login"),
        (bare(503, b"down"), {}, 2, "unknown", "unknown", None, "cannot be asked now: HTTP 503: down"),
    ],
)
def test_what_a_probe_says(
    log: LogStore,
    run: Run,
    configure: Callable[..., None],
    script: Script,
    settings: dict[str, str],
    code: int,
    path: str,
    auth: str,
    batches: bool | None,
    words: str,
) -> None:
    """In words and as JSON, with an exit code; nothing but requests without events is sent."""
    store_all(log, [event(1)])
    with receiving(script=script) as receiver:
        configure(receiver.url, **settings)
        found = run("forward", "other", "--probe", "--json")
        said = run("forward", "other", "--probe")
    assert (found.code, said.code) == (code, code)
    assert (found.json["is_fine"], found.json["path"], found.json["auth"]) == (code == 0, path, auth)
    assert found.json["batches"] is batches
    assert words in said.out
    assert said.out == f"other: {' '.join(found.json['says'])}\n"
    assert {request.body for request in receiver.requests} <= {b"[]", b'{"events":[]}'}
    assert len(receiver.requests) <= 4


def test_probe_is_remembered(log: LogStore, forwarding: Forwarding, run: Run, configure: Callable[..., None]) -> None:
    """The forward after it asks for no batches; what was probed only is owed nothing, and begins at the beginning."""
    store_all(log, [event(number) for number in range(5)])
    with receiving(script=marquez) as receiver:
        configure(receiver.url)
        assert run("forward", "other", "--probe").code == 0
        (row,) = forwarding.cursors()
        assert (row.position, row.is_begun, (row.learnt or {})["batches"]) == (NOT_BEGUN, False, False)
        (status,) = run("forward", "status", "--json").rows
        assert (status["state"], status["lag_events"], status["batches"]) == ("never run", 5, False)
        before = len(receiver.requests)
        done = run("forward", "other", "--json")
    assert (done.code, done.json["delivered"]) == (0, 5)
    assert [request.path for request in receiver.requests[before:]] == ["/api/v1/lineage"] * 5


def test_probe_of_our_own_kind_stores_nothing(
    log: LogStore, other: LogStore, run: Run, configure: Callable[..., None]
) -> None:
    """An empty array is a batch without events: no event, no dead letter."""
    with receiving(other) as receiver:
        configure(receiver.url)
        assert run("forward", "other", "--probe", "--json").json["batches"] is True
    assert count(other) == 0


def test_probe_asks_again_what_was_learnt(
    log: LogStore, forwarding: Forwarding, run: Run, configure: Callable[..., None]
) -> None:
    """A target that has got a batch endpoint since: one probe, and batches are sent."""
    store_all(log, [event(1), event(2)])
    with receiving(script=marquez) as receiver:
        configure(receiver.url)
        assert run("forward", "other").code == 0
        receiver.script = lambda _: None
        store_all(log, [event(3), event(4)])
        assert run("forward", "other", "--probe").code == 0
        assert run("forward", "other").code == 0
    assert receiver.requests[-1].path.endswith("/batch")
    assert json.loads(receiver.requests[-1].body)[0]["run"] == {"runId": "run-3"}


def test_probe_of_what_cannot_be_probed(log: LogStore, run: Run, tmp_path: Path) -> None:
    """A file; and with other options."""
    done = run("forward", str(tmp_path / "f.ndjson"), "--probe")
    assert (done.code, "--probe asks HTTP endpoints" in done.err) == (2, True)
    assert run("forward", "http://127.0.0.1:9/lineage", "--probe", "--follow").code == 2
    unreachable = run("forward", "http://127.0.0.1:9/lineage", "--probe")
    assert (unreachable.code, "cannot be asked now" in unreachable.out) == (2, True)


def test_egeria_is_asked_without_a_body(log: LogStore, run: Run, configure: Callable[..., None]) -> None:
    """An array would be passed on to Egeria's listeners; Spring refuses a request without a body."""
    with receiving(script=bare(400, b"Required request body is missing")) as receiver:
        configure(receiver.url, kind="egeria")
        assert run("forward", "other", "--probe").code == 0
    assert [request.body for request in receiver.requests] == [b""]
