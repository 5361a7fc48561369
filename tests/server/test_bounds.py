"""Large, slow, half and broken requests: bounded memory, bounded time, a clear answer."""

from __future__ import annotations

import gzip
import json
import re
import secrets
import socket
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from lineagelog.server import Limits
from lineagelog.server.limits import HEAD_BYTES
from tests.support import PATIENCE

from .client import BATCH, LINEAGE, count, encoded, event, request, rows, zipped
from .process import memory, serving

if TYPE_CHECKING:
    from pathlib import Path

    from lineagelog.store import LogStore

    from .conftest import Serve

MIB = 1024 * 1024


def talk(url: str, *parts: bytes, pause: float = 0.0, timeout: float = PATIENCE, to_end: bool = False) -> bytes:
    """Send parts over a raw socket, with pauses, and read the first answer, or until the server closes."""
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port), timeout=timeout) as connection:
        for part in parts:
            try:
                connection.sendall(part)
            except (BrokenPipeError, ConnectionResetError):
                break
            time.sleep(pause)
        received = b""
        try:
            while data := connection.recv(65536):
                received += data
                if b"\r\n\r\n" in received and not to_end:
                    return received
        except ConnectionResetError:
            pass
        return received


def head(*headers: str, method: str = "POST", path: str = LINEAGE) -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", *headers, "", ""]).encode()


def large(size: int) -> bytes:
    """An event of exactly that many bytes, most of them in a facet."""
    document = event(1, run={"facets": {"spark.logicalPlan": {"blob": "@"}}, "runId": "big"})
    body = json.dumps(document)
    return body.replace("@", "a" * (size - len(body) + 1)).encode()


def test_chunked_body_of_the_java_client(store: LogStore, url: str) -> None:
    """gzip, chunked, no Content-Length, a charset, chunk borders anywhere."""
    body = zipped(encoded())
    headers = ("Transfer-Encoding: chunked", "Content-Encoding: gzip", "Content-Type: application/json; charset=UTF-8")
    chunks = [b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:1], body[1:30], body[30:])]
    answer = talk(url, head(*headers), *chunks, b"0\r\n\r\n", pause=0.02)
    assert answer.startswith(b"HTTP/1.1 201 ")
    assert count(store) == 1


def test_keep_alive_and_pipelined_requests(store: LogStore, url: str) -> None:
    """Requests sent without waiting for answers are answered in order."""
    one = [head(f"Content-Length: {len(encoded(n))}") + encoded(n) for n in range(3)]
    answer = talk(url, b"".join(one) + head("Connection: close", method="GET", path="/healthz"), to_end=True)
    assert re.findall(rb"HTTP/1.1 (\d+) ", answer) == [b"201"] * 3 + [b"200"]
    assert count(store) == 3


@pytest.mark.parametrize("chunked", [False, True])
def test_offer_of_another_protocol_is_declined(store: LogStore, url: str, chunked: bool) -> None:
    """Java's own client offers h2c with every request: its event is stored, and the connection goes on as HTTP/1.1."""
    offer = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA")
    body = encoded(1)
    length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(body)}"
    sent = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if chunked else body
    parts = (head(*offer, length), sent[:40], sent[40:] + head("Connection: close", method="GET", path="/healthz"))
    answer = talk(url, *parts, pause=0.05, to_end=True)
    assert re.findall(rb"HTTP/1.1 (\d+) ", answer) == [b"201", b"200"]
    whole = talk(url, b"".join(parts), to_end=True)
    assert re.findall(rb"HTTP/1.1 (\d+) ", whole) == [b"201", b"200"]
    assert (count(store), count(store, "ol_dead_letter")) == (1, 0)


def test_many_requests_in_one_piece(store: LogStore, url: str) -> None:
    """More of them than the bytes of one head: each is answered, in order."""
    one = b"".join(head(f"Content-Length: {len(encoded(n))}") + encoded(n) for n in range(20))
    checks = head(f"X-Filler: {'a' * 7000}", method="GET", path="/healthz") * 40
    assert len(checks) > 3 * HEAD_BYTES
    end = head("Connection: close", method="GET", path="/nothing")
    answer = talk(url, one + checks + end, to_end=True)
    assert re.findall(rb"HTTP/1.1 (\d+) ", answer) == [b"201"] * 20 + [b"200"] * 40 + [b"404"]
    assert count(store) == 20


@pytest.mark.parametrize("before", [0, 1, 9])
def test_a_head_is_bounded_wherever_it_begins(url: str, before: int) -> None:
    """Also behind others in the same piece, which are answered up to the one that is being answered."""
    checks = head(method="GET", path="/healthz") * before
    answer = talk(url, checks + head(f"X-Filler: {'a' * (HEAD_BYTES + 32 * 1024)}", method="GET"), to_end=True)
    *answered, last = re.findall(rb"HTTP/1.1 (\d+) ", answer)
    assert (last, set(answered) <= {b"200"}, len(answered) >= before - 1) == (b"400", True, True)


@pytest.mark.long
@pytest.mark.parametrize("request_line", ["GET /healthz", "CONNECT x:1", "CONNECT /healthz"])
def test_upgrade_without_body_and_connect(url: str, request_line: str) -> None:
    """An offer in a request without a body is passed over; the server is no proxy."""
    offer = "\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    answer = talk(url, f"{request_line} HTTP/1.1{offer}".encode())
    assert answer.startswith(b"HTTP/1.1 200 " if request_line.startswith("GET") else b"HTTP/1.1 400 ")


def test_trailers_are_no_headers(store: LogStore, url: str) -> None:
    """What comes after a chunked body changes nothing about the request."""
    body = encoded(1)
    trailers = b"Content-Type: text/xml\r\nContent-Encoding: br\r\nX-Api-Key: none\r\n"
    chunked = b"%x\r\n%s\r\n0\r\n%s\r\n" % (len(body), body, trailers)
    assert talk(url, head("Transfer-Encoding: chunked") + chunked).startswith(b"HTTP/1.1 201 ")
    assert count(store) == 1


def test_trailers_are_bounded(store: LogStore, url: str) -> None:
    """Some are read over, endless ones end the connection; so does one that has no end."""
    body = encoded(1)
    chunked = head("Transfer-Encoding: chunked") + b"%x\r\n%s\r\n0\r\n" % (len(body), body)
    some = b"".join(b"X-Trailer-%d: %s\r\n" % (n, b"a" * 8000) for n in range(6))
    assert talk(url, chunked + some + b"\r\n").startswith(b"HTTP/1.1 201 ")
    for endless in ([b"X-Trailer: " + b"a" * 8000 + b"\r\n"] * 40, [b"X-Trailer: ", *[b"a" * 8000] * 40]):
        answer = talk(url, chunked, *endless, to_end=True)
        assert answer.startswith(b"HTTP/1.1 400 ") or answer == b""
    assert request(url, "/healthz").status == 200
    assert count(store) == 1


def test_broken_gzip_keeps_its_start(store: LogStore, url: str) -> None:
    """Cut off or garbled after several packets: the dead letter holds the first bytes as they came, not the last."""
    body = zipped(secrets.token_hex(50_000).encode())[:-20]
    for sent in (body, body[:30_000] + b"garbage" * 3000):
        pieces = [sent[at : at + 20_000] for at in range(0, len(sent), 20_000)]
        answer = talk(url, head(f"Content-Length: {len(sent)}"), *pieces, pause=0.05)
        assert answer.startswith(b"HTTP/1.1 400 ")
        ((payload, size),) = rows(
            store, "SELECT payload, payload_size FROM {ol_dead_letter} WHERE payload_size = :size", size=len(sent)
        )
        assert (bytes(payload), size) == (sent[:65536], len(sent))


@pytest.mark.parametrize(
    "start",
    [b"", b"POST /api/v1/lineage HT", head("X-Slow: 1")[:-2]],
    ids=["silent", "half a request line", "half a head"],
)
def test_slow_head_is_cut_off(serve: Serve, start: bytes) -> None:
    """A connection whose head does not come (slowloris) is closed after the limit."""
    url = serve(limits=Limits(head_timeout=1.0))
    assert talk(url, start) == b""


@pytest.mark.long
def test_slow_body_is_answered_408(serve: Serve, store: LogStore) -> None:
    """A body that does not come in time: 408, closed, nothing stored; one that comes at a fair rate has time."""
    body = large(8192)
    url = serve(limits=Limits(body_timeout=1.0, min_rate=1024))
    slow = talk(url, head(f"Content-Length: {len(body)}"), body[:500])
    assert slow.startswith(b"HTTP/1.1 408 ")
    parts = [body[at : at + 1024] for at in range(0, len(body), 1024)]
    url = serve(limits=Limits(body_timeout=1.0, min_rate=8))  # 128 more seconds for each part
    fair = talk(url, head(f"Content-Length: {len(body)}"), *parts, pause=0.25)
    assert fair.startswith(b"HTTP/1.1 201 ")
    assert count(store) == 1


def test_half_a_request_stores_nothing(store: LogStore, url: str) -> None:
    """A client that goes away in its body leaves no trace, and the server goes on."""
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port)) as connection:
        connection.sendall(head(f"Content-Length: {len(encoded())}") + encoded()[:100])
    assert request(url, LINEAGE, encoded(1)).status == 201
    assert (count(store), count(store, "ol_dead_letter")) == (1, 0)


def test_endless_headers_are_cut_off(url: str) -> None:
    """64 KiB of headers are enough."""
    answer = talk(url, head()[:-2], *[b"X-Filler: " + b"a" * 8000 + b"\r\n"] * 20)
    assert answer.startswith(b"HTTP/1.1 400 ") or answer == b""
    assert request(url, "/healthz").status == 200


def test_garbage_is_400(url: str) -> None:
    """What is no HTTP gets a 400, and the server goes on."""
    assert talk(url, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    assert request(url, "/healthz").status == 200


@pytest.mark.parametrize("compressed", [False, True])
def test_request_over_the_limit_is_413_and_keeps_its_start(serve: Serve, store: LogStore, compressed: bool) -> None:
    """No Retry-After; the limit is named; identity, size and first 64 KiB are in a dead letter."""
    url = serve(limits=Limits(max_request=MIB, max_event=MIB))
    body = large(2 * MIB)
    answer = request(url, LINEAGE, zipped(body) if compressed else body)
    assert (answer.status, answer.json["reason"]) == (413, "too_large")
    assert "retry-after" not in answer.headers
    assert str(MIB) in answer.json["message"]
    ((payload, size, run_id, job, kind),) = rows(
        store, "SELECT payload, payload_size, run_id, job_name, event_type FROM {ol_dead_letter}"
    )
    assert (bytes(payload), size) == (body[:65536], MIB + 1 if compressed else 2 * MIB)
    assert (run_id, job, kind) == (None, None, "COMPLETE")  # what comes after the blob is not seen
    assert request(url, LINEAGE, large(MIB - 2000)).status == 201


def test_event_over_its_limit_in_a_batch(serve: Serve, store: LogStore) -> None:
    """One event too large fails alone; on its own it is a 413."""
    url = serve(limits=Limits(max_event=10_000))
    answer = request(url, LINEAGE, b"[" + large(20_000) + b"," + encoded(2) + b"]")
    assert [item["reason"] for item in answer.json["failed_events"]] == ["too_large"]
    assert request(url, LINEAGE, large(20_001)).status == 413
    assert (count(store), count(store, "ol_dead_letter")) == (1, 2)


@pytest.mark.long
def test_too_many_events_in_a_request(serve: Serve, store: LogStore) -> None:
    """413 with the limit named, one dead letter, nothing stored."""
    url = serve(limits=Limits(max_events=10))
    answer = request(url, BATCH, b"[" + b",".join([b"{}"] * 11) + b"]")
    assert (answer.status, "limit is 10" in answer.json["message"]) == (413, True)
    assert (count(store), count(store, "ol_dead_letter")) == (0, 1)
    assert request(url, BATCH, b"[" + b",".join(encoded(n) for n in range(10)) + b"]").status == 204


@pytest.mark.long
def test_413_is_read_by_a_client_that_still_sends(serve: Serve) -> None:
    """A client that writes all before it reads gets its answer, not a broken pipe."""
    url = serve(limits=Limits(max_request=MIB))
    assert request(url, LINEAGE, large(20 * MIB)).status == 413


@pytest.mark.long
def test_expect_100_continue_is_not_asked_for_what_is_refused(url: str) -> None:
    """The body of a refused request is not waited for."""
    answer = talk(url, head("Content-Length: 1000000", "Expect: 100-continue", "Content-Encoding: br"))
    assert answer.startswith(b"HTTP/1.1 415 ")


@pytest.mark.long
def test_bomb_and_40_mb_event_in_bounded_memory(store_url: str, store: LogStore) -> None:
    """1 GiB of zeros in 1 MiB of gzip, and an event of 40 MB, are 413 with the default limits; memory stays bounded."""
    bomb = gzip.compress(b"\0" * (64 * MIB), 9) * 16
    with serving(store_url) as (process, url):
        request(url, LINEAGE, encoded())
        before = memory(process, "VmRSS")
        bombed = request(url, LINEAGE, bomb, headers={"Content-Encoding": "gzip"})
        after_bomb = memory(process, "VmHWM")
        big = request(url, LINEAGE, large(40_000_000))
        after_big = memory(process, "VmHWM")
        nested = request(url, LINEAGE, b'{"run":' * 10_000 + b"0" + b"}" * 10_000)
        assert request(url, LINEAGE, encoded(1)).status == 201
    assert (bombed.status, big.status, nested.status) == (413, 413, 400)
    assert len(bomb) < 2 * MIB
    assert after_bomb - before < 150 * MIB
    assert after_big - before < 250 * MIB
    assert count(store) == 2


def test_large_event_below_the_limit_is_stored(store: LogStore, url: str) -> None:
    """23 MB in one event."""
    assert request(url, LINEAGE, large(23_000_000)).status == 201
    assert rows(store, "SELECT run_id FROM {ol_run}") == [("big",)]


def test_case_14_oversize_event(serve: Serve, store: LogStore, shared_dir: Path) -> None:
    """Below the limit stored, above it 413, plain and compressed alike."""
    limit = 3 * MIB
    url = serve(limits=Limits(max_event=limit))
    (path,) = (shared_dir / "cases").glob("14-*.json")
    (document,) = json.loads(path.read_text())["deliver"]
    for fill, status in ((MIB, 201), (limit - 2000, 201), (limit + 1, 413), (23_000_000, 413)):
        body = json.dumps(document).replace("@FILL@", secrets.token_hex(fill // 2 + 1)[:fill]).encode()
        assert request(url, LINEAGE, body).status == status
        assert request(url, LINEAGE, zipped(body)).status == status
    assert count(store) == 2
    assert rows(store, "SELECT DISTINCT run_id, job_name FROM {ol_dead_letter}") == [
        (document["run"]["runId"], document["job"]["name"])
    ]
