"""What one request, and many at once, cost in memory, whatever is in them: a server as a process, its peak measured."""

from __future__ import annotations

import gzip
import json
import threading
from typing import TYPE_CHECKING

import pytest

from .client import BATCH, LINEAGE, encoded, event, request
from .process import memory, serving

if TYPE_CHECKING:
    from collections.abc import Callable

    from lineagelog.store import LogStore

MIB = 1024 * 1024
MOST = 300 * 1000 * 1000
HEAD = json.dumps(event(1))[:-1].encode() + b', "x": '
"""An event up to a member that costs what the test wants."""


def batch_of_events(size: int) -> bytes:
    one = json.dumps(
        event(1, run={"runId": "@@@@@@@@", "facets": {"sql": {"query": "select " + "a, " * 600}}})
    ).encode()
    return b"[" + b",".join(one.replace(b"@@@@@@@@", b"%08d" % n) for n in range(size // (len(one) + 1))) + b"]"


def keys(count: int, different: int) -> bytes:
    return b"{" + b",".join(b'"%x":1' % (number % different) for number in range(count)) + b"}}"


REQUESTS: dict[str, tuple[str, Callable[[], bytes], set[int]]] = {
    "numbers": (LINEAGE, lambda: b"[" + b"1," * (32 * MIB - 2) + b"1]", {400, 413}),
    "empty lines of objects": (LINEAGE, lambda: b"{}\n" * 20_000_000, {400, 413}),
    "open objects, a line each": (LINEAGE, lambda: b"{\n" * 30_000_000, {400, 413}),
    "empty objects": (BATCH, lambda: b"[" + b"{}," * 20_000_000 + b"{}]", {400, 413}),
    "envelope": (BATCH, lambda: b'{"events":[' + b"{}," * 20_000_000 + b"{}]}", {400, 413}),
    "members": (LINEAGE, lambda: HEAD + b"[" + b"1," * 10_000_000 + b"1]}", {413}),
    "objects": (LINEAGE, lambda: HEAD + b"[" + b"{}," * 10_000_000 + b"1]}", {413}),
    "objects below the limit": (LINEAGE, lambda: HEAD + b"[" + b"{}," * 480_000 + b"1]}", {201}),
    "keys": (LINEAGE, lambda: HEAD + keys(2_800_000, 2_800_000), {413}),
    "keys below the limit": (
        LINEAGE,
        lambda: HEAD + keys(900_000, 900_000),
        {201},
    ),
    "keys twice": (
        LINEAGE,
        lambda: HEAD + keys(900_000, 450_000),
        {201},
    ),
    "one key": (LINEAGE, lambda: HEAD + b"{" + b'"a":1,' * 4_000_000 + b'"a":2}}', {413}),
    "a long text": (LINEAGE, lambda: HEAD + b'"' + b"a" * (31 * MIB) + b'"}', {201}),
    "a long text of commas": (LINEAGE, lambda: HEAD + b'"' + b"a, {" * (7 * MIB) + b'"}', {201}),
    "a text to be mended": (LINEAGE, lambda: HEAD + b'"' + b"a" * (30 * MIB) + b'\xf0\x9f\x98\x80\\u0000"}', {201}),
    "datasets": (
        LINEAGE,
        lambda: (
            HEAD + b'1,"inputs":[' + b",".join(b'{"namespace":"n","name":"d%d"}' % n for n in range(300_000)) + b"]}"
        ),
        {201},
    ),
    "nested": (LINEAGE, lambda: HEAD + b"[" * 10_000_000 + b"]" * 10_000_000 + b"}", {400, 413}),
    "not closed": (LINEAGE, lambda: HEAD + b"[" + b"1," * 15_000_000, {400, 413}),
    "two large events": (
        BATCH,
        lambda: b"[" + b",".join([HEAD + b"[" + b'"ab",' * 800_000 + b'"' + b"a" * (27 * MIB) + b'"]}'] * 2) + b"]",
        {204},
    ),
    "a batch of events": (BATCH, lambda: batch_of_events(63 * MIB), {204}),
}


QUICK = {"numbers", "keys below the limit", "a batch of events", "datasets"}
"""One of each kind; the others have the time of `make test-long`."""


@pytest.mark.parametrize(
    "name", [each if each in QUICK else pytest.param(each, marks=pytest.mark.long) for each in REQUESTS]
)
def test_what_a_request_costs(store_url: str, store: LogStore, name: str) -> None:
    """At most 300 MB, plain and as gzip, and the server goes on."""
    path, make, statuses = REQUESTS[name]
    body = make()
    assert len(body) <= 64 * MIB
    with serving(store_url) as (process, url):
        assert request(url, LINEAGE, encoded()).status == 201
        before = memory(process, "VmRSS")
        answer = request(url, path, gzip.compress(body, 1), timeout=600)
        rise = memory(process, "VmHWM") - before
        assert request(url, LINEAGE, encoded(1)).status == 201
    assert answer.status in statuses, answer.body[:500]
    assert rise < MOST


@pytest.mark.long
@pytest.mark.parametrize("name", ["keys below the limit", "objects below the limit", "a batch of events", "numbers"])
def test_many_at_once_do_not_multiply(store_url: str, store: LogStore, name: str) -> None:
    """Eight of them: they wait for each other, or are told to come again, and small events go by."""
    path, make, statuses = REQUESTS[name]
    body = gzip.compress(make(), 1)
    answers: list[tuple[int, str | None]] = []

    def send() -> None:
        answer = request(url, path, body, timeout=600)
        answers.append((answer.status, answer.headers.get("retry-after")))

    with serving(store_url) as (process, url):
        assert request(url, LINEAGE, encoded()).status == 201
        before = memory(process, "VmRSS")
        threads = [threading.Thread(target=send) for _ in range(8)]
        for thread in threads:
            thread.start()
        assert request(url, LINEAGE, encoded(1), timeout=600).status == 201
        for thread in threads:
            thread.join(600)
        rise = memory(process, "VmHWM") - before
    assert {status for status, _ in answers} <= {*statuses, 503}
    assert all(retry for status, retry in answers if status == 503)
    assert len(answers) == 8
    assert rise < 2 * MOST
