"""`lineagelog daemon` around a platform: what Egeria publishes is in the store before it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support import connect, event

from .standin import PROVIDERS, connector, daemon

if TYPE_CHECKING:
    from pathlib import Path

JOB = {
    "eventTime": "2026-03-01T08:00:00Z",
    "producer": "https://example.invalid/tests",
    "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/JobEvent",
    "job": {"namespace": "tests", "name": "static job"},
}
DATASET = {
    "eventTime": "2026-03-01T08:00:00Z",
    "producer": "https://example.invalid/tests",
    "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/DatasetEvent",
    "dataset": {"namespace": "tests", "name": "static dataset"},
}


def rows(url: str, query: str) -> list[Any]:
    with connect(url) as connection:
        return connection.execute(query.encode()).fetchall()


def count(url: str, schema: str = "openlineage") -> int:
    return int(rows(url, f'SELECT count(*) FROM "{schema}".ol_event')[0][0])


@pytest.mark.parametrize("era", PROVIDERS)
@pytest.mark.parametrize("form", ["lib", "platform.jar"])
def test_an_event_is_stored_before_it_is_answered(
    platforms: Path, tmp_path: Path, database_url: str, era: str, form: str
) -> None:
    """Both shapes of Egeria, as class path and as Spring Boot jar: the tables are made, the event is there at once."""
    with daemon(tmp_path, [connector(database_url)], era=era, platform=platforms / era / form) as running:
        for number in range(5):
            running.publish(event(f"r{number}"))
            assert count(database_url) == number + 1
        running.publish(event("r0"))
        assert running.figures()[1:6] == ["5", "1", "0", "0", "0"]
        (started,) = running.audit("CONNECTOR-0001")
        assert started["parameters"][1:] == [f"{_place(database_url)}, schema openlineage", "0"]
        code, seconds = running.end()
    assert (code, seconds < 10) == (0, True), running.said()
    assert [each["event"] for each in running.logs("stop")] == ["stopping", "stopped"]


def _place(url: str) -> str:
    database, _, query = url.partition("://")[2].partition("?")
    return dict(pair.split("=") for pair in query.split("&"))["host"] + database[database.index("/") :]
