"""Every kind of target, as whom, and which events."""

from __future__ import annotations

import base64
import gzip
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import zstandard

from lineagelog.errors import SettingsError, TargetBusy, TargetUnavailable
from lineagelog.forward import TargetKind, find_target, open_sender, read_target
from lineagelog.store import LogStore
from lineagelog.store.ledgers.forwarding import Forwarding

from .conftest import event, quick_target, store_all
from .receiver import Reply, Request, receiving

if TYPE_CHECKING:
    from lineagelog.forward import Forwarder

    type Make = Callable[..., Forwarder]


# --- HTTP -----------------------------------------------------------------------------------------------------------


def test_batch_endpoint_is_used_where_there_is_one(log: LogStore, forwarder: Make) -> None:
    """Else, after its 404, events go one by one; the batch endpoint is asked once."""
    store_all(log, [event(number) for number in range(6)])
    with receiving() as receiver:
        forwarder(receiver.url, in_flight=1, batch_size=4).run()
    assert [(r.path, len(r.events)) for r in receiver.requests] == [
        ("/api/v1/lineage/batch", 4),
        ("/api/v1/lineage/batch", 2),
    ]
    no_batch: Callable[[Request], Reply | None] = lambda r: Reply(404) if r.path.endswith("batch") else None  # noqa: E731
    with receiving(script=no_batch) as receiver:
        sent = forwarder(receiver.url, name="marquez", in_flight=1).run()
    assert [r.path for r in receiver.requests] == ["/api/v1/lineage/batch", *["/api/v1/lineage"] * 6]
    assert sent.delivered == 6


def test_openmetadata_form_and_gzip(log: LogStore, forwarder: Make) -> None:
    """Batches as {"events": […]}, to a URL of its own, compressed."""
    store_all(log, [event(1), event(2)])
    with receiving() as receiver:
        url = receiver.url.replace("/api/v1/lineage", "/api/v1/openlineage/lineage?team=a")
        forwarder(url, batch="events", gzip=True, in_flight=1, headers={"X-Team": "a"}).run()
    (request,) = receiver.requests
    assert request.path == "/api/v1/openlineage/lineage/batch?team=a"
    assert list(json.loads(request.body)) == ["events"]
    assert request.headers["Content-Encoding"] == "gzip"
    assert request.headers["X-Team"] == "a"


@pytest.mark.long
def test_egeria_answers_200_to_everything(log: LogStore, forwarding: Forwarding, forwarder: Make) -> None:
    """Its true status is in relatedHTTPCode; events go one by one, as raw bodies."""
    store_all(log, [event(1), event(2)])
    codes = [400]

    def script(_: Request) -> Reply:
        body = {"class": "VoidResponse", "relatedHTTPCode": codes.pop() if codes else 200}
        return Reply(200, json.dumps(body | {"exceptionErrorMessage": "OMAG-1 bad"}).encode())

    with receiving(script=script) as receiver:
        sent = forwarder(receiver.url, kind="egeria", in_flight=1).run()
        assert (sent.delivered, sent.parked) == (1, 1)
        codes.append(404)
        store_all(log, [event(3)])
        with pytest.raises(TargetUnavailable, match="relatedHTTPCode 404: OMAG-1 bad"):
            forwarder(receiver.url, kind="egeria").run()
    (letter,) = forwarding.letters("other")
    assert letter.detail == "relatedHTTPCode 400: OMAG-1 bad"
    assert all(len(request.events) == 1 for request in receiver.requests)


def test_secrets_in_headers(log: LogStore, forwarder: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bearer token from a file, an API key from a variable."""
    (tmp_path / "token").write_text("t0ken\n")
    monkeypatch.setenv("KEY", "k3y")
    store_all(log, [event(1)])
    with receiving() as receiver:
        forwarder(receiver.url, auth={"type": "bearer", "secret_file": str(tmp_path / "token")}).run()
        forwarder(receiver.url, name="feast", auth={"type": "api_key", "secret_env": "KEY"}).run()
    first, second = (request.headers for request in receiver.requests)
    assert first["Authorization"] == "Bearer t0ken"
    assert second["X-Api-Key" if "X-Api-Key" in second else "X-API-Key"] == "k3y"


@pytest.mark.long
def test_oauth_token_is_fetched_and_renewed(log: LogStore, forwarder: Make) -> None:
    """Client credentials by HTTP Basic; a token that is refused is replaced once, without a failure."""
    tokens = ["second", "first"]
    valid = {"second"}

    def script(request: Request) -> Reply | None:
        if request.path == "/token":
            assert b"grant_type=client_credentials" in request.body
            assert request.headers["Authorization"] == "Basic " + base64.b64encode(b"me:s3cret").decode()
            return Reply(200, json.dumps({"access_token": tokens.pop(), "expires_in": 3600}).encode())
        return None if request.headers["Authorization"].removeprefix("Bearer ") in valid else Reply(401)

    store_all(log, [event(1)])
    with receiving(script=script) as receiver:
        token_url = receiver.url.replace("/api/v1/lineage", "/token")
        auth = {"type": "oauth2", "token_url": token_url, "client_id": "me", "secret": "s3cret"}
        sent = forwarder(receiver.url, auth=auth).run()
    assert (sent.delivered, sent.retries) == (1, 0)


def test_egeria_login_that_fails_is_told(log: LogStore, forwarder: Make) -> None:
    """Egeria's token endpoint answers with an object instead of a token; nothing is sent, nothing is parked."""

    def script(request: Request) -> Reply | None:
        assert json.loads(request.body) == {"userId": "erinoverview", "password": "s3cret"}
        return Reply(200, b'{"relatedHTTPCode": 401}')

    store_all(log, [event(1)])
    with receiving(script=script) as receiver:
        auth = {"type": "egeria", "token_url": receiver.url, "client_id": "erinoverview", "secret": "s3cret"}
        with pytest.raises(TargetUnavailable, match="Egeria's token endpoint answered without a token"):
            forwarder(receiver.url, kind="egeria", auth=auth).run()


@pytest.mark.long
def test_rate_limit(log: LogStore, forwarder: Make) -> None:
    """No more events per second than the target is to get."""
    store_all(log, [event(number) for number in range(40)])
    with receiving() as receiver:
        begun = time.monotonic()
        forwarder(receiver.url, rate=20, batch_size=10, in_flight=2).run()
    assert time.monotonic() - begun >= 1.4
    assert len(receiver.stored) == 40


# --- which events ---------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_filter(log: LogStore, forwarder: Make) -> None:
    """Patterns of namespace, job and type; what is left out is counted and passed over for good."""
    store_all(
        log,
        [
            event(1),
            event(2, job={"namespace": "prod_eu", "name": "load"}),
            event(3, job={"namespace": "dev", "name": "load"}),
            event(4, job={"namespace": "prod%eu", "name": "load_tmp"}),
            event(5, eventType="START", job={"namespace": "prod_eu", "name": "load"}),
            json.dumps({"eventTime": "2026-01-01T00:00:00Z", "dataset": {"namespace": "d", "name": "n"}}).encode(),
        ],
    )
    with receiving() as receiver:
        wanted = {"namespaces": ["prod_*"], "jobs": ["!*_tmp"], "types": ["complete", "fail"]}
        sent = forwarder(receiver.url, **wanted).run()
        assert (sent.delivered, sent.filtered) == (1, 5)
        assert forwarder(receiver.url, name="sets", kinds=["dataset"]).run().delivered == 1
        assert forwarder(receiver.url, **wanted).run().events == 0


def test_too_large_events_are_parked(log: LogStore, forwarding: Forwarding, forwarder: Make) -> None:
    """With the limit, and without an attempt."""
    store_all(log, [event(1), event(2, text="x" * 2000)])
    with receiving() as receiver:
        sent = forwarder(receiver.url, max_event_bytes=1000).run()
    (letter,) = forwarding.letters("other")
    assert (sent.delivered, letter.reason, letter.run_id) == (1, "too_large", "run-2")
    assert letter.detail.endswith("bytes; the limit of the target is 1000")
    assert len(receiver.requests) == 1


def test_range_leaves_the_cursor_alone(log: LogStore, forwarding: Forwarding, forwarder: Make) -> None:
    """A range goes by event time, oldest first, and may be forwarded again and again."""
    store_all(log, [event(number) for number in reversed(range(10))])
    with receiving() as receiver:
        forwarder(receiver.url).run()
        (before,) = forwarding.cursors()
        target = forwarder(receiver.url, batch_size=2, in_flight=1)
        since, until = (json.loads(event(number))["eventTime"] for number in (3, 7))
        from datetime import datetime

        sent = target.forward_range(datetime.fromisoformat(since), datetime.fromisoformat(until))
    (after,) = forwarding.cursors()
    assert sent.delivered == 4
    assert [json.loads(body)["run"]["runId"] for body in receiver.stored[10:]] == ["run-3", "run-4", "run-5", "run-6"]
    assert after.position == before.position
    assert forwarding.count_range(datetime.fromisoformat(since), datetime.fromisoformat(until)) == 4


def test_survey_sends_nothing(log: LogStore, forwarding: Forwarding, forwarder: Make) -> None:
    """It counts what a forward would do."""
    store_all(log, [event(1), event(2, text="x" * 2000), event(3, url="db://u:pw@h/"), event(4, job={"name": "j"})])
    with receiving() as receiver:
        found = forwarder(receiver.url, max_event_bytes=1000, namespaces=["prod"]).survey(None, None, is_range=False)
    assert (found.events, found.too_large, found.redacted, found.filtered) == (2, 1, 1, 1)
    assert receiver.requests == []
    assert forwarding.cursors() == []


# --- files ----------------------------------------------------------------------------------------------------------


def read_file(path: Path) -> list[bytes]:
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    if path.suffix == ".zst":
        data = zstandard.ZstdDecompressor().decompressobj(read_across_frames=True).decompress(data)
    return data.splitlines()


@pytest.mark.parametrize("name", ["events.ndjson", "events.ndjson.gz", "events.ndjson.zst"])
def test_files(log: LogStore, forwarder: Make, tmp_path: Path, name: str) -> None:
    """One event a line, however it was spelt; what comes later is appended."""
    path = tmp_path / "out" / name
    pretty = event(1, text="a\0b").replace(b", ", b",\r\n  ")
    store_all(log, [pretty, event(2)])
    forwarder(str(path)).run()
    store_all(log, [event(3)])
    forwarder(f"file://{path}").run()
    lines = read_file(path)
    assert [json.loads(line)["run"]["runId"] for line in lines] == ["run-1", "run-2", "run-3"]
    assert json.loads(lines[0]) == json.loads(pretty)


@pytest.mark.parametrize("name", ["events.ndjson", "events.ndjson.gz"])
def test_file_that_a_crash_left_half_written(log: LogStore, forwarder: Make, tmp_path: Path, name: str) -> None:
    """What follows the last saved size is put aside and written again: no torn line, nothing twice."""
    path = tmp_path / name
    store_all(log, [event(1)])
    forwarder(str(path)).run()
    with path.open("ab") as file:
        file.write(b'\x1f\x8b{"eventTime": "20')
    store_all(log, [event(2)])
    forwarder(str(path)).run()
    assert [json.loads(line)["run"]["runId"] for line in read_file(path)] == ["run-1", "run-2"]
    assert (tmp_path / f"{name}.torn").read_bytes() == b'\x1f\x8b{"eventTime": "20'


def test_file_has_one_writer(log: LogStore, forwarder: Make, tmp_path: Path) -> None:
    """Two targets with the same file do not mix their lines."""
    sender = open_sender(quick_target(str(tmp_path / "f.ndjson")))
    with pytest.raises(TargetBusy, match="another process writes to"):
        forwarder(str(tmp_path / "f.ndjson"), name="second").run()
    sender.close()


def test_file_that_cannot_be_written(log: LogStore, forwarder: Make, tmp_path: Path) -> None:
    """Told in one line."""
    (tmp_path / "folder").mkdir()
    with pytest.raises(SettingsError, match="folder cannot be written: Is a directory"):
        forwarder(str(tmp_path / "folder")).run()


# --- settings -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "'forward.t.url': field required"),
        (
            {"url": "ftp://h/x"},
            "'forward.t': url has the unknown scheme 'ftp': http, https, kafka, or the path of a file",
        ),
        (
            {"url": " oops http://h/x"},
            "'forward.t': url has the unknown scheme '': http, https, kafka, or the path of a file",
        ),
        ({"url": "kafka://h"}, "'forward.t': url must be like kafka://host:9092,other:9092/topic"),
        ({"url": "http:///x"}, "'forward.t': url must be like https://host/api/v1/lineage"),
        ({"url": "f", "colour": 1}, "unknown key 'forward.t.colour'"),
        ({"url": "f", "batch_size": 0}, "'forward.t.batch_size': input should be greater than or equal to 1"),
        (
            {"url": "http://h/", "auth": {"type": "bearer"}},
            "'forward.t.auth': one of secret, secret_file, secret_env is needed",
        ),
        (
            {"url": "http://h/", "auth": {"type": "oauth2", "secret": "hunter2"}},
            "'forward.t.auth': type 'oauth2' needs token_url and client_id",
        ),
    ],
)
def test_settings_that_cannot_be_used(values: dict[str, object], message: str) -> None:
    """One line that names the key, and no secret."""
    with pytest.raises(SettingsError) as caught:
        read_target("t", values)
    assert str(caught.value) == message


def test_targets_are_found_by_name_url_or_path() -> None:
    """A word without a section is no target."""
    sections = {"marquez": {"url": "http://marquez:5000/api/v1/lineage"}}
    assert find_target("marquez", sections).kind is TargetKind.OPENLINEAGE
    assert find_target("out/events.ndjson.zst", sections).kind is TargetKind.FILE
    assert find_target("kafka://h:9092/topic", sections).kafka_place == ("h:9092", "topic")
    adhoc = find_target("https://u:pw@h/api/v1/lineage", sections)
    assert (adhoc.name, adhoc.url) == ("https://u:***@h/api/v1/lineage", "https://u:pw@h/api/v1/lineage")
    with pytest.raises(SettingsError, match=r"there is no target 'nowhere'.*there are: marquez"):
        find_target("nowhere", sections)
    with pytest.raises(SettingsError, match="cannot be called 'status'"):
        read_target("status", {"url": "x"})
    with pytest.raises(SettingsError, match="variable LINEAGELOG_NO_SUCH"):
        open_sender(
            read_target("t", {"url": "http://h/", "auth": {"type": "bearer", "secret_env": "LINEAGELOG_NO_SUCH"}})
        )
