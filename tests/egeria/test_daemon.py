"""`lineagelog daemon` around a platform: what Egeria publishes is in the store before it returns."""

from __future__ import annotations

import json
import os
import signal
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from tests.support import PATIENCE, connect, event, run_process, wait_until

from .standin import PROVIDERS, Daemon, connector, daemon

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lineagelog.postgres.embedded import EmbeddedPostgres
    from tests.databases import NewDatabase

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


def place(url: str) -> str:
    parts = urlsplit(url)
    return parse_qs(parts.query)["host"][0] + parts.path


@pytest.mark.parametrize("era", PROVIDERS)
@pytest.mark.parametrize("form", ["lib", pytest.param("platform.jar", marks=pytest.mark.long)])
def test_an_event_is_stored_before_it_is_answered(
    platforms: Path, tmp_path: Path, database_url: str, era: str, form: str
) -> None:
    """Both shapes of Egeria, as class path and as Spring Boot jar: the tables are made, the event is there at once."""
    with daemon(tmp_path, [connector(database_url)], era=era, platform=platforms / era / form) as running:
        for number in range(5):
            running.publish(event(f"r{number}"))
            assert count(database_url) == number + 1
        running.publish(event("r0"))
        assert running.metrics()[1:6] == ["5", "1", "0", "0", "0"]
        (started,) = running.audit("CONNECTOR-0001")
        assert started["parameters"][1:] == [f"{place(database_url)}, schema openlineage", "0"]
        code, seconds = running.end()
    assert (code, seconds < 10) == (0, True), running.said()
    assert [each["event"] for each in running.logs("stop")] == ["stopping", "stopped"]


@pytest.fixture(scope="module")
def shared(
    platforms: Path, new_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Daemon, str]]:
    """A daemon for tests that look at events of their own only, and the URL of its database."""
    folder = tmp_path_factory.mktemp("shared")
    with new_database() as url, daemon(folder, [connector(url)], secondListener="first") as running:
        yield running, url


def _javas() -> list[Path]:
    return sorted({home.resolve() for home in Path("/usr/lib/jvm").glob("*") if (home / "bin" / "java").exists()})


@pytest.mark.long
@pytest.mark.parametrize("home", _javas(), ids=lambda home: home.name)
def test_each_java_that_is_here(platforms: Path, tmp_path: Path, database_url: str, home: Path) -> None:
    """17 and newer run the daemon; JAVA_HOME chooses, and the JVM has nothing to complain of."""
    with daemon(tmp_path, [connector(database_url)], variables={"JAVA_HOME": str(home)}) as running:
        running.publish(event("r"))
        assert count(database_url) == 1
        (told,) = running.logs("jvm")
        assert Path(told["home"]) == home
        assert running.end()[0] == 0
    assert "WARNING" not in running.said()


def test_run_job_and_dataset_events(shared: tuple[Daemon, str]) -> None:
    """Each kind is stored as what it is, whatever method of the listener brings it."""
    running, url = shared
    for each in (event("kinds", producer="urn:kinds"), JOB, DATASET):
        running.publish({**each, "producer": "urn:kinds"})
    query = "SELECT event_kind, job_name FROM openlineage.ol_event WHERE producer = 'urn:kinds' ORDER BY 1"
    assert rows(url, query) == [("dataset", ""), ("job", "static job"), ("run", "job")]


def test_a_bean_is_the_same_event(shared: tuple[Daemon, str]) -> None:
    """Written anew from Egeria's bean (other order and white space) it is a duplicate; and so is it in another way."""
    running, url = shared
    sent = {**event("bean"), "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json"}
    facets = {"outputStatistics": {"rowCount": 5, "size": 7}}
    sent["outputs"] = [{"namespace": "n", "name": "o", "outputFacets": facets}]
    running.publish(json.dumps(sent, indent=2).encode())
    running.ask("POST", "/test/publish-bean", json.dumps(sent).encode())
    loaded = run_process("load", "-", "--database", url, stdin=json.dumps(sent).encode())
    assert loaded.out.startswith("read 1 stored 0 duplicate 1 ")
    assert rows(url, "SELECT count(*) FROM openlineage.ol_event WHERE run_id = 'bean'") == [(1,)]


def test_what_cannot_be_read_becomes_a_dead_letter(shared: tuple[Daemon, str]) -> None:
    """Also what Egeria itself could not parse: the exact text is kept, and where it came from."""
    running, url = shared
    bad = ['{"eventType": "COMPLETE", "eventTime": "never", "run": {"runId": "x"}}', "no event, é 😀 at all", "[{"]
    for each in bad:
        running.publish(each.encode())
    query = "SELECT source, position, payload FROM openlineage.ol_dead_letter WHERE position NOT LIKE '%]' ORDER BY id"
    letters = rows(url, query)
    assert [letter[:2] for letter in letters] == [("egeria", "lineage log")] * 3
    assert [bytes(letter[2]).decode() for letter in letters] == bad


def test_an_array_of_events_is_taken_apart(shared: tuple[Daemon, str]) -> None:
    """As elsewhere: Egeria cannot parse it and passes it on as it came; a bad one of them is a dead letter."""
    running, url = shared
    several = [event("array-1"), {"eventTime": "never"}, event("array-2")]
    running.publish(json.dumps(several).encode())
    running.publish(b"[]")
    running.publish(b"\n".join(json.dumps(event(f"array-{number}")).encode() for number in (3, 4)))
    found = rows(url, "SELECT run_id FROM openlineage.ol_event WHERE run_id LIKE 'array-%' ORDER BY 1")
    assert [run for (run,) in found] == [f"array-{number}" for number in (1, 2, 3, 4)]
    letters = "SELECT position FROM openlineage.ol_dead_letter WHERE position LIKE '%]'"
    assert rows(url, letters) == [("lineage log[1]",)]


def test_another_listeners_trouble_is_not_ours(shared: tuple[Daemon, str]) -> None:
    """It throws before us and we store all the same."""
    running, url = shared
    running.ask("POST", "/test/listener?throws=true", b"")
    running.publish(event("beside"))
    running.ask("POST", "/test/listener?throws=false", b"")
    assert "the second listener was told to throw" in str(running.audit())
    assert rows(url, "SELECT count(*) FROM openlineage.ol_event WHERE run_id = 'beside'") == [(1,)]


@pytest.mark.long
def test_metrics_are_served(platforms: Path, tmp_path: Path, database_url: str) -> None:
    """On a port of their own, as `consume` has them."""
    with daemon(tmp_path, [connector(database_url)], "--metrics-port", "0") as running:
        running.publish(event("r"))
        (told,) = running.logs("metrics")
        with urllib.request.urlopen(told["url"], timeout=PATIENCE) as answer:
            text = answer.read().decode()
        assert running.end()[0] == 0
    assert 'lineagelog_events_total{source="egeria",verdict="stored"} 1.0' in text
    assert 'lineagelog_daemon_database_up{connector="lineage log"} 1.0' in text
    assert "process_resident_memory_bytes" in text


def test_connectors_with_schemas_of_their_own(platforms: Path, tmp_path: Path, database_url: str) -> None:
    """Two in one daemon: each event is in both stores, and each tells its own metrics."""
    both = [connector(database_url, "a", schema="one"), connector(database_url, 'b "2"', schema="two words")]
    with daemon(tmp_path, both) as running:
        for number in range(3):
            running.publish(event(f"r{number}"))
        assert [running.metrics(name)[1] for name in ("a", 'b "2"')] == ["3", "3"]
        assert running.load(200, threads=4)["failures"] == 0
    assert (count(database_url, "one"), count(database_url, "two words")) == (203, 203)


@pytest.mark.long
@pytest.mark.parametrize("era", PROVIDERS)
def test_a_connector_is_restarted(
    platforms: Path, tmp_path: Path, new_database: NewDatabase, database_url: str, era: str
) -> None:
    """Restarts, new properties and a new endpoint each make an instance, and Egeria 6 never tells the one before: each
    event comes once, to the new place only, and the instances before hold nothing."""
    name = urlencode({"name": "lineage log"})
    with new_database() as other, daemon(tmp_path, [connector(database_url)], era=era) as running:
        running.publish(event("before"))
        for _ in range(3):
            running.ask("POST", "/test/restart", b"")
        running.publish(event("restarted"))
        assert running.metrics()[1:3] == ["1", "0"]
        running.ask("POST", f"/test/properties?{name}", b'{"schema": "two"}')
        running.publish(event("schema"))
        running.ask("POST", f"/test/endpoint?{name}", other.encode())
        for number in range(3):
            running.publish(event(f"other-{number}"))
        assert running.metrics()[1:3] == ["3", "0"]
        assert running.ask("GET", "/test/status")["connectors"][0]["instances"] == 6
        ours = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lineagelog' AND datname = "
        names = [urlsplit(url).path.strip("/") for url in (database_url, other)]
        wait_until(lambda: rows(database_url, f"{ours} '{names[0]}'") == [(0,)])
        assert 1 <= rows(database_url, f"{ours} '{names[1]}'")[0][0] <= 3
        assert running.audit("CONNECTOR-0011") == []
        assert (count(database_url), count(database_url, "two"), count(other, "two")) == (2, 1, 3)


def test_a_refused_start_is_an_exception_of_egerias(platforms: Path, tmp_path: Path, database_url: str) -> None:
    """Wrong properties: the state is failed with our text, the instance before goes on, and a restart mends it."""
    name = urlencode({"name": "lineage log"})
    with daemon(tmp_path, [connector(database_url)]) as running:
        running.ask("POST", f"/test/properties?{name}", b'{"strict": "maybe", "shema": "x"}')
        (status,) = running.ask("GET", "/test/status")["connectors"]
        assert (status["state"], "strict: 'maybe' is neither true nor false" in status["error"]) == ("failed", True)
        running.publish(event("meanwhile"))
        running.ask("POST", f"/test/properties?{name}", b'{"strict": "false"}')
        running.publish(event("after"))
        (unknown,) = running.audit("CONNECTOR-0012")
        assert unknown["parameters"][1] == "shema"
    assert count(database_url) == 2


@pytest.mark.long
def test_many_threads_share_transactions(platforms: Path, tmp_path: Path, database_url: str) -> None:
    """Where the platform publishes from several threads at once, batches form by themselves."""
    with daemon(tmp_path, [connector(database_url)], synchronized=False) as running:
        running.load(100)
        done = running.load(800, first=1000, threads=16)
        assert (done["failures"], count(database_url)) == (0, 900)
    transactions = "SELECT count(DISTINCT arrival_xid) FROM openlineage.ol_event WHERE run_id >= 'load-1000'"
    assert rows(database_url, transactions)[0][0] < 400


@pytest.mark.long
def test_the_database_goes_and_comes_back(platforms: Path, tmp_path: Path, own_postgres: EmbeddedPostgres) -> None:
    """Egeria goes on: events are spooled and stored later, the audit log tells both."""
    url = own_postgres.url
    with daemon(tmp_path, [connector(url, databaseWaitSeconds="0.5")]) as running:
        running.publish(event("before"))
        own_postgres.release()
        for number in range(20):
            running.publish(event(f"away-{number}"))
        away = running.metrics()
        own_postgres.start()
        wait_until(lambda: running.metrics()[5] == "0")
        running.publish(event("after"))
        back = running.metrics()
        assert running.audit("CONNECTOR-0003")
        assert running.audit("CONNECTOR-0005") == []
    assert (away[1], away[5], away[8].startswith("away: ")) == ("1", "20", True)
    assert (back[1], back[8]) == ("22", "up")
    assert count(url) == 22


def test_a_full_spool_is_told_to_egeria(platforms: Path, tmp_path: Path) -> None:
    """The text of Python's error is in the audit log, and the password in none of its records."""
    nowhere = "postgresql://me:s3cr3t-pass@127.0.0.1:1/db?connect_timeout=2"
    (tmp_path / "secret").write_text("an0ther-pass\n")
    secrets = {"secretsFile": str(tmp_path / "secret"), "databaseWaitSeconds": 0}
    two = [
        connector(nowhere, "full", spoolMaxMegabytes=1, databaseWaitSeconds=0),
        connector("postgresql://me@127.0.0.1:1/db2", "secret file", **secrets),
        connector(nowhere.replace("postgresql", "mysql"), "no database"),
    ]
    with daemon(tmp_path, two) as running:
        big = json.dumps({**event("big"), "x": "y" * 600_000}).encode()
        running.publish(big)
        running.publish(big)
        refused = running.audit("CONNECTOR-0005")
        running.ask("POST", "/test/refresh", b"")
        records = json.dumps(running.audit())
        running.end()
    assert [each["parameters"][0] for each in refused] == ["full"]
    text = refused[0]["parameters"][2]
    assert text.startswith("the event is not kept: the database is away (the database cannot be reached: ")
    assert text.endswith("is full: 1048576 bytes")
    assert "mysql://me:***@" in records
    for secret in ("s3cr3t-pass", "an0ther-pass"):
        assert secret not in records + running.said()


def test_without_an_endpoint_the_settings_database_is_used(platforms: Path, tmp_path: Path, database_url: str) -> None:
    """--database and --schema say where."""
    options = ("--database", database_url, "--schema", "mine")
    with daemon(tmp_path, [connector(None)], *options) as running:
        running.publish(event("r"))
    assert count(database_url, "mine") == 1


@pytest.mark.long
def test_a_database_that_freezes_does_not_hold_up_egeria(
    platforms: Path, tmp_path: Path, own_postgres: EmbeddedPostgres
) -> None:
    """It takes no answer for an answer: the event is spooled after the set time, and stored when the server thaws."""
    url = own_postgres.url
    with daemon(tmp_path, [connector(url, databaseWaitSeconds="0")]) as running:
        running.publish(event("before"))
        ours = "SELECT pid FROM pg_stat_activity WHERE application_name = 'lineagelog'"
        processes = [int(pid) for (pid,) in rows(url, ours)]
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        try:
            begin = time.monotonic()
            running.publish(event("frozen"))
            assert time.monotonic() - begin > 1
        finally:
            for process in processes:
                os.kill(process, signal.SIGCONT)
        wait_until(lambda: running.metrics()[5] == "0")
    assert count(url) == 2
