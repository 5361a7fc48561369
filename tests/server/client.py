"""A plain HTTP client for the tests, and events to send."""

from __future__ import annotations

import gzip
import http.client
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import text

from lineagelog.store import LogStore

LINEAGE = "/api/v1/lineage"
BATCH = "/api/v1/lineage/batch"


@dataclass
class Response:
    """Status, headers by lower-case name, body."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def request(
    url: str,
    path: str = LINEAGE,
    body: bytes | str | None = None,
    *,
    method: str | None = None,
    headers: dict[str, str] | None = None,
    timeout: float = 60,
) -> Response:
    """One request on a connection of its own; with a body it is a POST."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=timeout)
    try:
        data = body.encode() if isinstance(body, str) else body
        connection.request(method or ("GET" if body is None else "POST"), path, data, headers or {})
        answer = connection.getresponse()
        return Response(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
    finally:
        connection.close()


def event(number: int = 0, **changes: Any) -> dict[str, Any]:
    """A small run event of its own run; changes replace members."""
    return {
        "eventType": "COMPLETE",
        "eventTime": f"2026-03-02T10:00:{number % 60:02}Z",
        "producer": "https://example.org/tests",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": f"run-{number}"},
        "job": {"namespace": "shop", "name": "load_orders"},
        "inputs": [],
        "outputs": [{"namespace": "db", "name": "orders"}],
    } | changes


def encoded(number: int = 0, **changes: Any) -> bytes:
    """The same, as JSON."""
    return json.dumps(event(number, **changes)).encode()


def zipped(data: bytes) -> bytes:
    """The same, as gzip."""
    return gzip.compress(data)


def rows(store: LogStore, query: str, **parameters: Any) -> list[tuple[Any, ...]]:
    """The rows of a query; ``{ol_run}`` and so on stand for the tables."""
    names = ("ol_event", "ol_run", "ol_run_dataset", "ol_dead_letter", "ol_assertion", "ol_test", "ol_token")
    tables = {name: store.schema.table(name) for name in names}
    with store.engine.connect() as connection:
        return [tuple(row) for row in connection.execute(text(query.format(**tables)), parameters)]


def count(store: LogStore, table: str = "ol_event") -> int:
    """The number of rows of a table."""
    return rows(store, f"SELECT count(*) FROM {{{table}}}")[0][0]
