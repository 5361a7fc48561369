"""The life of a connector as Java calls it: JSON in, JSON out, errors in one line without secrets."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from lineagelog.egeria import Connectors
from lineagelog.egeria.configuration import Defaults
from lineagelog.egeria.connector import CallError
from lineagelog.egeria.metrics import DaemonMetrics
from lineagelog.postgres.embedded import EmbeddedPostgres
from lineagelog.store import Database, LogStore, open_engine
from tests.support import connect, event, wait_until

NOWHERE = "postgresql://me:s3cret@127.0.0.1:1/db"


class _Stores:
    """The stores of a test's database."""

    def __init__(self, own: str) -> None:
        self.own = own

    def open(self, address: str | None, schema: str, connect_timeout: int) -> LogStore:
        return LogStore(
            Database(open_engine(address or self.own, pool_size=3, connect_timeout=connect_timeout), schema)
        )

    def ensure(self, store: LogStore) -> None:
        store.create()


@pytest.fixture
def connectors(database_url: str, tmp_path: Path) -> Iterator[Connectors]:
    defaults = Defaults(
        schema="openlineage",
        spool_folder=tmp_path / "spool",
        spool_max_bytes=1 << 20,
        wait_seconds=0.2,
        strict=False,
        max_event=1 << 20,
        max_event_values=1_000_000,
        own_place="our own database",
    )
    made = Connectors(_Stores(database_url), defaults, waiting=lambda: 3)
    yield made
    made.close(5)


def call(connectors: Connectors, operation: str, connector: str = "1", **argument: Any) -> Any:
    return json.loads(connectors.call(connector, operation, json.dumps(argument)))


def body(number: int) -> bytes:
    return json.dumps(event(f"r{number}")).encode()


def take(connectors: Connectors, number: int, connector: str = "1") -> dict[int, str]:
    keeper = connectors.keeper(connector)
    assert keeper is not None
    return keeper.take([body(number)])


def test_a_whole_life(connectors: Connectors, database_url: str) -> None:
    """initialize, start, events, refresh, disconnect, and the same again: the answers are the contract's."""
    assert call(connectors, "initialize", name="log") == {}
    assert connectors.keeper("1") is None
    for round_number in range(2):
        started = call(connectors, "start")
        assert started == {"store": "our own database, schema openlineage", "spooled": 0, "database": "up"}
        assert take(connectors, 1) == {}
        metrics = call(connectors, "refresh")
        assert (metrics["stored"], metrics["duplicate"]) == (1 - round_number, round_number)
        assert {key: metrics[key] for key in ("expired", "dead", "spooled", "waiting", "database")} == {
            "expired": 0,
            "dead": 0,
            "spooled": 0,
            "waiting": 3,
            "database": "up",
        }
        assert metrics["last_event_age_seconds"] > 0
        last = call(connectors, "disconnect")
        assert (last["stored"], last["waiting"], last["database"]) == (1 - round_number, 0, "up")
        assert connectors.keeper("1") is None
    assert call(connectors, "disconnect") == {}
    with connect(database_url) as connection:
        assert connection.execute("SELECT count(*) FROM openlineage.ol_event").fetchone() == (1,)


def test_connectors_have_stores_of_their_own(connectors: Connectors, database_url: str) -> None:
    """Two with different schemas beside each other; each keeps and counts its own."""
    for number, schema in (("1", "one"), ("2", 'say "no"'.replace('"', "'"))):
        call(connectors, "initialize", number, name=f"c{number}", address=database_url, properties={"schema": schema})
        assert call(connectors, "start", number)["store"].endswith(f", schema {schema}")
    assert take(connectors, 1, "1") == take(connectors, 2, "2") == take(connectors, 3, "2") == {}
    assert [call(connectors, "refresh", number)["stored"] for number in ("1", "2")] == [1, 2]
    assert connectors.started() == 2
    with connect(database_url) as connection:
        assert connection.execute("SELECT count(*) FROM one.ol_event").fetchone() == (1,)


def test_a_start_without_the_database_is_a_start(connectors: Connectors) -> None:
    """It is said where it is and why it is away, without the password; events are spooled, the metrics tell."""
    call(connectors, "initialize", name="log", address=NOWHERE)
    with capture_logs() as logs:
        started = call(connectors, "start")
        assert take(connectors, 1) == {}
        metrics = call(connectors, "refresh")
        last = call(connectors, "disconnect")
    assert started["store"] == "127.0.0.1:1/db, schema openlineage"
    for each in (started, metrics, last):
        assert each["database"].startswith("away: the database cannot be reached: ")
    assert (metrics["spooled"], last["spooled"]) == (1, 1)
    assert "s3cret" not in f"{started}{metrics}{last}{logs}"


def test_errors_are_one_line_without_secrets(connectors: Connectors) -> None:
    """Wrong settings, an address that is none, calls out of turn: the text says what, and never the password."""
    cases = [
        ("initialize", {"properties": {"strict": "maybe"}}, "strict: 'maybe' is neither true nor false"),
        ("start", {}, "start: the connector was not initialized"),
        ("initialize", {"address": "mysql://me:s3cret@h/x", "name": "log"}, None),
        ("refresh", {}, "the connector log is not started"),
        ("start", {}, "database URL 'mysql://me:***@h/x' is not PostgreSQL's: postgresql://user@host/database"),
        ("dance", {}, "there is no operation 'dance'"),
    ]
    with capture_logs() as logs:
        for operation, argument, expected in cases:
            if expected is None:
                call(connectors, operation, **argument)
                continue
            with pytest.raises(CallError) as raised:
                call(connectors, operation, **argument)
            assert expected == str(raised.value)
    assert "s3cret" not in str(logs)
    assert [line["log_level"] for line in logs] == ["error"] * 5


def test_a_secret_that_an_error_repeats_is_hidden(connectors: Connectors, tmp_path: Path) -> None:
    """Also where it stands in no URL."""
    (tmp_path / "secret").write_text("opensesame")
    properties = {"secretsFile": str(tmp_path / "secret"), "schema": "opensesame" * 7}
    call(connectors, "initialize", address="postgresql://me@h/db", properties=properties)
    with pytest.raises(CallError) as raised:
        call(connectors, "start")
    assert ("opensesame" in str(raised.value), "***" in str(raised.value)) == (False, True)


def drainers(name: str) -> int:
    return [each.name for each in threading.enumerate()].count(f"lineagelog-drain-{name}")


def connections(url: str) -> int:
    with connect(url) as connection:
        query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.long
def test_a_successor_takes_what_still_comes_for_the_instance_before(connectors: Connectors, database_url: str) -> None:
    """After n restarts there is one pool and one drainer; an event on its way from an old instance is stored once, in
    the new place."""
    for number in range(6):
        schema = "one" if number < 5 else "two"
        name = str(number)
        call(connectors, "initialize", name, name="log", address=database_url, properties={"schema": schema})
        call(connectors, "start", name)
        assert take(connectors, number, name) == {}
        if number:
            said = call(connectors, "replace", name, id=str(number - 1))
            assert (said["stored"], said["database"]) == (1, "up")
    for number in range(6):
        assert take(connectors, 10 + number, str(number)) == {}
    assert connectors.hide("0", f"{database_url}x") == connectors.hide("5", f"{database_url}x")
    wait_until(lambda: drainers("log") == 1)
    wait_until(lambda: connections(database_url) <= 3)
    assert connectors.started() == 1
    with connect(database_url) as connection:
        assert connection.execute("SELECT count(*) FROM one.ol_event").fetchone() == (5,)
        assert connection.execute("SELECT count(*) FROM two.ol_event").fetchone() == (7,)
    (state,) = connectors.states()
    assert (state.starts, state.counts["stored"], state.is_up) == (6, 12, True)


@pytest.mark.long
def test_the_spool_of_the_instance_before_is_drained(
    connectors: Connectors, own_postgres: EmbeddedPostgres, database_url: str
) -> None:
    """A new endpoint while the old database is away: the events that it has taken reach that one when it is back."""
    call(connectors, "initialize", "1", name="log", address=own_postgres.url)
    call(connectors, "start", "1")
    own_postgres.release()
    assert take(connectors, 1, "1") == {}
    call(connectors, "initialize", "2", name="log", address=database_url)
    call(connectors, "start", "2")
    assert call(connectors, "replace", "2", id="1")["spooled"] == 1
    assert take(connectors, 2, "1") == {}
    assert drainers("log") == 2
    own_postgres.start()
    wait_until(lambda: drainers("log") == 1)
    for url, run in ((own_postgres.url, "r1"), (database_url, "r2")):
        with connect(url) as connection:
            assert connection.execute("SELECT run_id FROM openlineage.ol_event").fetchall() == [(run,)]
    (state,) = connectors.states()
    assert (state.counts["stored"], state.counts["spooled"], state.spool_bytes) == (2, 0, 0)


@pytest.mark.long
def test_a_disconnected_connector_drains_its_spool(connectors: Connectors, own_postgres: EmbeddedPostgres) -> None:
    """Also where the daemon disconnects: what was acknowledged does not lie there until the process starts anew."""
    call(connectors, "initialize", name="log", address=own_postgres.url)
    call(connectors, "start")
    own_postgres.release()
    assert take(connectors, 1) == {}
    assert call(connectors, "disconnect")["spooled"] == 1
    own_postgres.start()
    wait_until(lambda: drainers("log") == 0)
    with connect(own_postgres.url) as connection:
        assert connection.execute("SELECT count(*) FROM openlineage.ol_event").fetchone() == (1,)


def test_metrics(connectors: Connectors, database_url: str, tmp_path: Path) -> None:
    """All connectors' events together, the rest by connector; a restart loses no count; a scrape asks nobody."""
    for number, name in (("1", "log"), ("2", "log"), ("3", "other")):
        call(connectors, "initialize", number, name=name, address=NOWHERE if name == "other" else database_url)
        call(connectors, "start", number)
        keeper = connectors.keeper(number)
        assert keeper is not None
        assert keeper.take([body(int(number)), b"no event"]) == {}
    call(connectors, "replace", "2", id="1")
    wait_until(lambda: drainers("log") == 1)
    connectors.queued = 5
    registry = CollectorRegistry()
    registry.register(DaemonMetrics(connectors))

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"lineagelog_{name}", labels)

    assert value("events_total", source="egeria", verdict="stored") == 2
    assert value("events_total", source="egeria", verdict="dead") == 2
    assert value("dead_letters_total", source="egeria", reason="not_json") == 2
    assert value("daemon_starts_total", connector="log") == 2
    assert value("daemon_spooled_events", connector="other") == 2
    assert (value("daemon_database_up", connector="log"), value("daemon_database_up", connector="other")) == (1, 0)
    assert (value("daemon_spool_bytes", connector="other") or 0) > 0
    assert value("daemon_spool_max_bytes", connector="log") == 1 << 20
    assert (value("daemon_last_event_age_seconds", connector="log") or 0) > 0
    assert (value("daemon_waiting_events"), value("daemon_connectors")) == (5, 2)


def test_a_misspelt_property_is_a_warning(connectors: Connectors) -> None:
    """The connector works all the same: Egeria may have put something there itself."""
    with capture_logs() as logs:
        said = call(connectors, "initialize", name="log", properties={"shema": "x"})
    assert said == {"unknown": ["shema"]}
    assert [(line["names"], line["log_level"]) for line in logs] == [("shema", "warning")]


def test_strict_refuses_what_departs_from_the_specification(connectors: Connectors, database_url: str) -> None:
    """The property reaches the door: an event without schemaURL becomes a dead letter."""
    call(connectors, "initialize", properties={"strict": "true"})
    call(connectors, "start")
    assert take(connectors, 1) == {}
    assert call(connectors, "refresh")["dead"] == 1


def test_an_event_beyond_the_limit_is_a_dead_letter(connectors: Connectors) -> None:
    """maxEventMegabytes."""
    call(connectors, "initialize", properties={"maxEventMegabytes": 1})
    call(connectors, "start")
    keeper = connectors.keeper("1")
    assert keeper is not None
    assert keeper.take([b'{"x":"' + b"y" * (1 << 20) + b'"}']) == {}
    assert call(connectors, "refresh")["dead"] == 1
