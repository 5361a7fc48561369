"""Targets that know no batches, refuse their form, take small requests only, or are somebody else altogether."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lineagelog.errors import TargetBusy, TargetUnavailable
from lineagelog.forward.delivery import _Lane
from lineagelog.forward.sending import Item, TargetAnswer, TargetVerdict
from lineagelog.store import LogStore
from lineagelog.store.ledgers.forwarding import START, Forwarding, StoredEvent
from tests.support import PATIENCE, wait_until

from .conftest import event, store_all
from .receiver import Reply, Request, Script, receiving

if TYPE_CHECKING:
    from lineagelog.forward import Forwarder

    type Make = Callable[..., Forwarder]

ROOT = Path(__file__).parents[2]
PAGE = b"<!doctype html><title>Sign in</title>"
HTML = {"Content-Type": "text/html; charset=utf-8"}


def steps(runs: int, each: int) -> list[bytes]:
    """Events of several runs, mixed, each run's in order of time."""
    times = [f"2026-03-01T00:{number // 60:02}:{number % 60:02}Z" for number in range(runs * each)]
    return [event(number % runs, eventTime=time) for number, time in enumerate(times)]


def in_order(bodies: Sequence[bytes]) -> bool:
    """Whether the events of each run came in the order of their times, taking the first time each came."""
    seen: dict[str, list[str]] = defaultdict(list)
    for tree in map(json.loads, bodies):
        times = seen[tree["run"]["runId"]]
        if tree["eventTime"] not in times:
            times.append(tree["eventTime"])
    return all(times == sorted(times) for times in seen.values())


def canonical(body: bytes) -> str:
    """However it is spelt."""
    return json.dumps(json.loads(body), sort_keys=True)


def refusing_batches(status: int, *, until_single: bool = False) -> Script:
    """A target whose batch endpoint answers with a status; its second answer waits until a single event came."""
    lock, single = threading.Lock(), threading.Event()
    batches: list[Request] = []

    def script(request: Request) -> Reply | None:
        if not request.path.endswith("/batch"):
            single.set()
            return None
        with lock:
            batches.append(request)
            is_first = len(batches) == 1
        if until_single and not is_first:
            assert single.wait(PATIENCE)
        return Reply(status, b"no batches here")

    return script


# --- the form of batches --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_flight", [1, 2, 4])
@pytest.mark.parametrize("status", [404, 405, 501, 400, 415, 422, 500])
def test_target_without_batches(
    log: LogStore, forwarding: Forwarding, forwarder: Make, status: int, in_flight: int
) -> None:
    """What the first lane learns holds for all of them: nothing is held or parked, each event comes once, in order.

    It is remembered: the next forward does not ask again.
    """
    store_all(log, steps(runs=20, each=5))
    with receiving(script=refusing_batches(status, until_single=status in (404, 405, 501))) as receiver:
        sent = forwarder(receiver.url, in_flight=in_flight).run()
        assert (sent.delivered, sent.parked, sent.retries) == (100, 0, 0)
        assert len(receiver.requests) <= 100 + 2 * in_flight
        assert len(receiver.stored) == 100
        assert in_order(receiver.stored)
        (row,) = forwarding.cursors()
        assert row.learnt is not None
        assert row.learnt["batches"] is False
        store_all(log, [event(number) for number in range(1000, 1010)])
        before = len(receiver.requests)
        assert forwarder(receiver.url, in_flight=in_flight).run().delivered == 10
    assert [request.path for request in receiver.requests[before:]] == ["/api/v1/lineage"] * 10


@pytest.mark.parametrize("bad", [0, 1, 13, 19])
@pytest.mark.parametrize("in_flight", [1, 2, 4])
def test_one_bad_member_is_no_target_without_batches(
    log: LogStore, forwarding: Forwarding, forwarder: Make, bad: int, in_flight: int
) -> None:
    """A batch refused for one of its events: that one is parked, and batches go on."""
    store_all(log, [event(number) for number in range(60)])
    name = b'"run-%d"' % bad
    with receiving(script=lambda r: Reply(400, b"bad event") if name in r.body else None) as receiver:
        sent = forwarder(receiver.url, in_flight=in_flight, batch_size=20 // in_flight).run()
    (letter,) = forwarding.letters("other")
    assert (sent.delivered, letter.run_id, letter.status, len(receiver.stored)) == (59, f"run-{bad}", 400, 59)
    (row,) = forwarding.cursors()
    assert row.learnt is not None
    assert row.learnt["batches"] is True


@pytest.mark.parametrize("in_flight", [1, 2, 4])
def test_bad_events_at_a_target_without_batches(
    log: LogStore, forwarding: Forwarding, forwarder: Make, in_flight: int
) -> None:
    """Where arrays and some events are refused alike, only these events are parked, and the form is learnt still."""
    store_all(log, [event(number) for number in range(40)])
    bad = [b'"run-%d"' % number for number in (0, 1, 3, 25)]

    def script(request: Request) -> Reply | None:
        return Reply(422) if request.path.endswith("/batch") or any(b in request.body for b in bad) else None

    with receiving(script=script) as receiver:
        sent = forwarder(receiver.url, in_flight=in_flight).run()
    assert (sent.delivered, sent.parked, len(receiver.stored)) == (36, 4, 36)
    assert sorted(letter.run_id for letter in forwarding.letters("other")) == ["run-0", "run-1", "run-25", "run-3"]
    (row,) = forwarding.cursors()
    assert row.learnt is not None
    assert row.learnt["batches"] is False


def test_a_batch_that_has_too_many_events(log: LogStore, forwarding: Forwarding, forwarder: Make) -> None:
    """A target that takes ten at a time gets batches all the same."""
    store_all(log, [event(number) for number in range(80)])
    with receiving(script=lambda r: Reply(400, b"at most 10") if len(r.events) > 10 else None) as receiver:
        assert forwarder(receiver.url, in_flight=2, batch_size=40).run().delivered == 80
    assert len(receiver.stored) == 80
    assert not any(request.path.endswith("/lineage") for request in receiver.requests)


def test_wrong_url_teaches_nothing(log: LogStore, forwarding: Forwarding, forwarder: Make) -> None:
    """Where single events are answered 404, too, it is the URL: nothing is learnt, and nothing is parked."""
    store_all(log, [event(number) for number in range(5)])
    with receiving(script=lambda _: Reply(404)) as receiver:
        with pytest.raises(TargetUnavailable, match="HTTP 404"):
            forwarder(receiver.url).run()
        (row,) = forwarding.cursors()
        assert (row.learnt, row.position, row.parked) == (None, START, 0)
        receiver.script = lambda _: None
        assert forwarder(receiver.url, in_flight=1).run().delivered == 5
    assert receiver.requests[-1].path.endswith("/batch")


def test_batch_endpoint_that_goes_away(log: LogStore, forwarding: Forwarding, forwarder: Make) -> None:
    """One 404 of a target that took batches is no proof; the second one is."""
    with receiving() as receiver:
        for round_ in range(4):
            store_all(log, [event(10 * round_ + number) for number in range(4)])
            assert forwarder(receiver.url, in_flight=1).run().delivered == 4
            receiver.script = refusing_batches(404)
    paths = [request.path.removeprefix("/api/v1/lineage") for request in receiver.requests]
    assert paths == ["/batch", "/batch", *[""] * 4, "/batch", *[""] * 4, *[""] * 4]
    assert len(receiver.stored) == 16


def test_another_url_is_another_endpoint(log: LogStore, forwarding: Forwarding, forwarder: Make) -> None:
    """What was learnt does not outlive the endpoint it was learnt of; the URL, which may hold a secret, is not kept."""
    store_all(log, [event(number) for number in range(4)])
    with receiving(script=refusing_batches(404)) as receiver:
        forwarder(receiver.url + "?key=hunter2", in_flight=1).run()
    (row,) = forwarding.cursors()
    assert "hunter2" not in json.dumps(row.learnt)
    store_all(log, [event(number) for number in range(4, 8)])
    with receiving() as receiver:
        forwarder(receiver.url, in_flight=1).run()
    assert [request.path for request in receiver.requests] == ["/api/v1/lineage/batch"]


def test_split_beside_trouble_loses_nothing() -> None:
    """Events to be split and one to be sent again in the same answer all stay, in order."""
    items = [Item(StoredEvent(START, str(n), None, "", b"", "", "", False, b""), b"{}") for n in range(4)]  # type: ignore[arg-type]
    lane = _Lane(attempts=10)
    kinds = (TargetVerdict.DELIVERED, TargetVerdict.FAILED, TargetVerdict.SPLIT, TargetVerdict.SPLIT)
    assert lane.sort(items, [TargetAnswer(kind) for kind in kinds]) == [tuple(items[1:])]


# --- the size of requests -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_flight", [1, 2, 4])
def test_size_limit_is_learnt_once(log: LogStore, forwarding: Forwarding, forwarder: Make, in_flight: int) -> None:
    """After the first 413 each lane's next batches are smaller, and those of later forwards from the start."""
    limit = 20_000
    store_all(log, [event(number, text="x" * 500) for number in range(200)])
    with receiving(script=lambda r: Reply(413) if len(r.body) > limit else None) as receiver:
        sent = forwarder(receiver.url, in_flight=in_flight).run()
        assert (sent.delivered, sent.parked, len(receiver.stored)) == (200, 0, 200)
        refused = sum(len(request.body) > limit for request in receiver.requests)
        assert 1 <= refused <= 4 * in_flight
        (row,) = forwarding.cursors()
        assert row.learnt is not None
        assert limit // 2 - 1000 <= row.learnt["max_bytes"] <= limit
        store_all(log, [event(number, text="x" * 500) for number in range(200, 400)])
        before = len(receiver.requests)
        assert forwarder(receiver.url, in_flight=in_flight).run().delivered == 200
    again = receiver.requests[before:]
    assert max(len(request.body) for request in again) <= limit
    assert len(again) < 40


def test_one_event_above_the_limit(log: LogStore, forwarding: Forwarding, forwarder: Make) -> None:
    """It is parked with the target's answer, and its neighbours arrive."""
    store_all(log, [event(number, text="x" * (5000 if number == 7 else 50)) for number in range(20)])
    with receiving(script=lambda r: Reply(413) if len(r.body) > 4000 else None) as receiver:
        sent = forwarder(receiver.url).run()
    (letter,) = forwarding.letters("other")
    assert (sent.delivered, letter.run_id, letter.status, len(receiver.stored)) == (19, "run-7", 413, 19)


def _request_head(connection: socket.socket) -> tuple[str, int, bytes]:
    """The path, the content length, and what came of the body so far."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            return "", 0, b""
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    return head.split(b" ")[1].decode(), int(length.split(b":")[1]), body


@contextmanager
def hanging_up(limit: int) -> Iterator[tuple[str, list[int]]]:
    """A server that answers 413 before it has read the body, and closes; else it reads and says 201."""
    taken: list[int] = []

    def serve(connection: socket.socket) -> None:
        with connection:
            path, length, body = _request_head(connection)
            if path and length > limit:
                connection.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                return
            while path and len(body) < length:
                body += connection.recv(65536)
            if path:
                taken.append(body.count(b'"eventTime"'))
                connection.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/api/v1/lineage", taken
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(PATIENCE)


def test_server_that_hangs_up_on_large_requests(log: LogStore, forwarder: Make) -> None:
    """It answers 413 without reading the rest of the body: the same as one that reads it."""
    store_all(log, [event(number, text="x" * 100_000) for number in range(60)])
    with hanging_up(500_000) as (url, taken):
        sent = forwarder(url, in_flight=2).run()
    assert (sent.delivered, sent.parked) == (60, 0)
    assert sum(taken) >= 60


# --- somebody else answers ------------------------------------------------------------------------------------------


def signing_in(request: Request) -> Reply:
    """A gateway that sends everybody to its sign-in page."""
    if request.path == "/login":
        return Reply(200, PAGE, HTML)
    return Reply(302, headers={"Location": "/login?next=%2Fapi&token=hunter2"})


STRANGERS: dict[str, tuple[Script, str]] = {
    "login page": (lambda _: Reply(200, PAGE, HTML), r"HTTP 200 with text/html is no answer.*Sign in"),
    "redirect": (signing_in, r"HTTP 302: a redirect to /login, which is not followed"),
    "page without a type": (lambda _: Reply(200, PAGE), r"HTTP 200 with no content type is no answer"),
    "page as plain text": (lambda _: Reply(200, PAGE, {"Content-Type": "text/plain"}), "text/plain is no answer"),
    "page as JSON": (lambda _: Reply(200, PAGE, {"Content-Type": "application/json"}), "application/json is no answer"),
    "201 page": (lambda _: Reply(201, b"\r\n <html>\0\x1b[2J", HTML), r"HTTP 201 with text/html is no answer"),
    "words in HTML": (lambda _: Reply(200, b"Please sign in", HTML), r"HTTP 200 with text/html is no answer"),
    "long text": (lambda _: Reply(200, b"words " * 999, {"Content-Type": "text/plain"}), r"text/plain is no answer"),
    "XML": (lambda _: Reply(200, b"<ok/>", {"Content-Type": "application/xml"}), r"application/xml is no answer"),
    "JSON that says no": (lambda _: Reply(200, b'{"error": "token expired"}'), r"HTTP 200 that says no: .*expired"),
    "status that says no": (lambda _: Reply(200, b'{"status": "failure"}'), r"HTTP 200 that says no"),
    "Egeria's refusal": (lambda _: Reply(200, b'{"relatedHTTPCode": 401}'), r"relatedHTTPCode 401"),
}


@pytest.mark.parametrize("in_flight", [1, 2, 4])
@pytest.mark.parametrize("name", STRANGERS)
def test_somebody_else_is_no_yes(
    log: LogStore, forwarding: Forwarding, forwarder: Make, name: str, in_flight: int
) -> None:
    """Nothing is delivered, the cursor stays, nothing is parked or learnt, and what came is told."""
    script, message = STRANGERS[name]
    store_all(log, [event(number) for number in range(8)])
    with receiving(script=script) as receiver:
        follower = forwarder(receiver.url, in_flight=in_flight)
        with pytest.raises(TargetUnavailable, match=message) as caught:
            follower.run()
        assert "hunter2" not in str(caught.value)
        (row,) = forwarding.cursors()
        assert (row.delivered, row.parked, row.position, row.learnt) == (0, 0, START, None)
        assert follower.sent.delivered == 0
        receiver.script = lambda _: None
        assert forwarder(receiver.url, in_flight=in_flight).run().delivered == 8
    assert len(receiver.stored) == 8


@pytest.mark.parametrize("kind", ["openlineage", "egeria"])
@pytest.mark.parametrize("batch", ["array", "events", "never"])
def test_login_page_in_every_form(
    log: LogStore, forwarding: Forwarding, forwarder: Make, kind: str, batch: str
) -> None:
    """Whatever the settings say of batches, and of the kind of target."""
    store_all(log, [event(number) for number in range(4)])
    with (
        receiving(script=lambda _: Reply(200, PAGE, HTML)) as receiver,
        pytest.raises(TargetUnavailable, match="text/html is no answer"),
    ):
        forwarder(receiver.url, batch=batch, kind=kind).run()
    (row,) = forwarding.cursors()
    assert (row.delivered, row.parked, row.position) == (0, 0, START)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(201),
        Reply(200, b"", HTML),
        Reply(204),
        Reply(202, b" \r\n"),
        Reply(200, b'{"status": "success"}', {"Content-Type": "application/json"}),
        Reply(200, b'{"status": "partial_success", "error": null, "unresolvedDatasets": ["a"]}'),
        Reply(200, b'{"status": "ok"}', HTML),
        Reply(200, b'"done"', {"Content-Type": "application/json; charset=utf-8"}),
        Reply(200, b"OK", {"Content-Type": "application/json"}),
        Reply(200, b"[]", {"Content-Type": "application/vnd.api+json"}),
        Reply(200, b"OK\n", {"Content-Type": "text/plain;charset=UTF-8"}),
        Reply(200, b"ok"),
        Reply(200, b'{"relatedHTTPCode": 200, "class": "VoidResponse"}'),
    ],
)
@pytest.mark.parametrize("batch", ["array", "never"])
def test_what_receivers_say(log: LogStore, forwarder: Make, reply: Reply, batch: str) -> None:
    """Nothing, JSON, or a few words: each is a yes."""
    store_all(log, [event(1), event(2)])
    with receiving(script=lambda _: reply) as receiver:
        assert forwarder(receiver.url, batch=batch).run().delivered == 2


def test_batch_answer_that_cannot_be_read(log: LogStore, forwarder: Make) -> None:
    """Failures are listed, but not as the specification has them: no yes, and told."""
    store_all(log, [event(1), event(2)])
    with (
        receiving(script=lambda _: Reply(200, b'{"failed_events": ["first"]}')) as receiver,
        pytest.raises(TargetUnavailable, match="failed_events that cannot be read"),
    ):
        forwarder(receiver.url, batch="array").run()


def test_follower_waits_out_a_captive_portal(log: LogStore, forwarding: Forwarding, forwarder: Make) -> None:
    """While the portal answers, the status says so; afterwards batches go on as before: nothing wrong was learnt."""
    from .conftest import following

    store_all(log, [event(number) for number in range(6)])
    with receiving(script=lambda _: Reply(200, PAGE, HTML)) as receiver:
        follower = forwarder(receiver.url, in_flight=2)
        with following(follower):
            wait_until(lambda: follower.sent.problem is not None)
            assert "text/html is no answer" in (follower.sent.problem or "")
            receiver.script = lambda _: None
            wait_until(lambda: follower.sent.delivered == 6)
            store_all(log, [event(number) for number in range(6, 12)])
            wait_until(lambda: follower.sent.delivered == 12)
    (row,) = forwarding.cursors()
    assert (row.learnt or {}).get("batches") is not False
    assert len(receiver.stored) == 12


@contextmanager
def never_ending(part: bytes, pause: threading.Event) -> Iterator[str]:
    """A server that says 200 and then goes on and on; ``pause`` set = as fast as it can."""

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            _request_head(connection)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
            while True:
                connection.sendall(part)
                pause.wait(0.05)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/api/v1/lineage"
        listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    ("part", "is_fast", "message"), [(b" " * 65536 + b"x", True, "text/plain is no answer"), (b"x", False, "in time")]
)
def test_answer_without_an_end(log: LogStore, forwarder: Make, part: bytes, is_fast: bool, message: str) -> None:
    """It is cut, or it is a time-out: it neither fills the memory nor holds a lane for ever."""
    store_all(log, [event(1)])
    pause = threading.Event()
    if is_fast:
        pause.set()
    with never_ending(part, pause) as url, pytest.raises(TargetUnavailable, match=message):
        forwarder(url, timeout=PATIENCE if is_fast else 0.5, give_up=0.1).run()


# --- killed in the middle -------------------------------------------------------------------------------------------

FOLLOW = """
import sys
from lineagelog.forward import Forwarder, open_sender
from lineagelog.store import Database, open_engine
from lineagelog.store.ledgers.forwarding import Forwarding
from tests.forward.conftest import quick_target
url, lanes = sys.argv[2], int(sys.argv[3])
target = quick_target(url, batch_size=20, in_flight=lanes)
Forwarder(Forwarding(Database(open_engine(sys.argv[1]))), target, open_sender).follow()
"""


@pytest.mark.long
@pytest.mark.parametrize("in_flight", [1, 2, 4])
@pytest.mark.parametrize("status", [404, 400])
def test_killed_while_it_learns(
    log: LogStore, forwarding: Forwarding, forwarder: Make, database_url: str, status: int, in_flight: int
) -> None:
    """kill -9 in the middle, twice: all events arrive, those of a run in order, and none is parked."""
    bodies = steps(runs=30, each=10)
    store_all(log, bodies)
    with receiving(script=refusing_batches(status)) as receiver:
        for _ in range(2):
            before = len(receiver.stored)
            arguments = [sys.executable, "-c", FOLLOW, database_url, receiver.url, str(in_flight)]
            process = subprocess.Popen(arguments, cwd=ROOT)
            wait_until(lambda before=before: len(receiver.stored) > before + 50)  # type: ignore[misc]
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        wait_until(lambda: _finishes(forwarder, receiver.url, in_flight))
    assert {canonical(body) for body in receiver.stored} == {canonical(body) for body in bodies}
    assert in_order(receiver.stored)
    assert list(forwarding.letters(None, None)) == []
    (row,) = forwarding.cursors()
    assert (row.delivered, forwarding.lag(row.position).events) == (300, 0)


def _finishes(forwarder: Make, url: str, in_flight: int) -> bool:
    """Forward the rest, once PostgreSQL has noticed that the killed session is gone."""
    try:
        forwarder(url, in_flight=in_flight, batch_size=20).run()
    except TargetBusy:
        return False
    return True
