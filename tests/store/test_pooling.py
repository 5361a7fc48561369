"""A store behind a real pgbouncer that shares sessions between transactions: what works there, and what says no."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from sqlalchemy import make_url

from lineagelog.errors import LineageLogError, SettingsError
from lineagelog.event.parse import parse
from lineagelog.postgres.connection import Connection
from lineagelog.postgres.engine import driver_connection
from lineagelog.read import Reader, Window
from lineagelog.store import Database, LogStore, Verdict, Verifier, open_engine, purge
from lineagelog.store.ledgers.forwarding import Forwarding
from tests.support import PATIENCE, connect, encode, event, run_here, serve_process, wait_until

from .surroundings import SURROUNDINGS, admin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lineagelog.postgres.embedded import EmbeddedPostgres

_POOL_SIZE = 2
"""Sessions for all clients together, so that they take turns in them."""
_WINDOW = Window(datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC))
_CONFIG = """\
[databases]
* = host={server} port=5432 user=lineagelog
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
default_pool_size = {size}
max_client_conn = 100
"""


def pgbouncer() -> str:
    """The program; skips the test where it is not installed."""
    found = shutil.which("pgbouncer", path=os.environ["PATH"] + ":/usr/sbin:/usr/local/sbin")
    if found is None:
        pytest.skip("no pgbouncer here: apt-get install pgbouncer")
    return found


class Pooler:
    """A pgbouncer in front of the session's server."""

    def __init__(self, server: EmbeddedPostgres, folder: Path, mode: str) -> None:
        program = pgbouncer()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        text = _CONFIG.format(server=server.socket_dir, port=self.port, mode=mode, size=_POOL_SIZE)
        (folder / "pgbouncer.ini").write_text(text)
        self._log = (folder / "log").open("wb")
        command = [program, str(folder / "pgbouncer.ini")]
        if os.geteuid() == 0:  # it will not run as root; the server's own account may use its socket
            command[1:1] = ["-u", pwd.getpwuid(Path(server.socket_dir).stat().st_uid).pw_name]
        self._process = subprocess.Popen(command, stdout=self._log, stderr=subprocess.STDOUT)
        self._folder = folder

    def wait(self, database: str) -> None:
        """Until it takes connections."""

        def answers() -> bool:
            assert self._process.poll() is None, said()
            try:
                psycopg.connect(host="127.0.0.1", port=self.port, user="me", dbname=database).close()
            except psycopg.OperationalError:
                return False
            return True

        def said() -> str:
            return (self._folder / "log").read_text()

        wait_until(answers, said)

    def url(self, database_url: str, **query: str) -> str:
        """The way to a database through it."""
        parsed = make_url(database_url).set(host="127.0.0.1", port=self.port, query=query)
        return parsed.render_as_string(hide_password=False)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        self._log.close()


@pytest.fixture(scope="module", params=["transaction"])
def pooler(postgres: EmbeddedPostgres, request: pytest.FixtureRequest) -> Iterator[Pooler]:
    folder = Path(tempfile.mkdtemp(prefix="lineagelog-pooler-"))
    folder.chmod(0o755)
    running = Pooler(postgres, folder, request.param)
    try:
        running.wait("postgres")
        yield running
    finally:
        running.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def pooled_url(pooler: Pooler, store_url: str) -> str:
    """The database of `store`, through the pooler."""
    return pooler.url(store_url)


@pytest.fixture
def pooled(pooled_url: str) -> Iterator[LogStore]:
    engine = open_engine(pooled_url, pool_size=4)
    yield LogStore(Database(engine))
    engine.dispose()


def bodies(count: int, first: int = 0) -> list[bytes]:
    return [
        encode(event(f"run-{number}", eventTime="2026-03-01T08:00:00Z", outputs=[{"namespace": "db", "name": "out"}]))
        for number in range(first, first + count)
    ]


def test_many_clients_take_turns(pooled_url: str, pooled: LogStore, store: LogStore) -> None:
    """Six clients append by two sessions, each batch sent by two of them: stored once, and the digest is right.

    Small batches go as one pipeline, those of a hundred by COPY.
    """
    batches = [bodies(3 if number % 2 else 120, 1000 * number) for number in range(12)]

    def append(number: int) -> list[Verdict]:
        engine = open_engine(pooled_url, pool_size=2)
        writer = LogStore(Database(engine))
        found = [verdict for batch in batches[number % 3 :: 3] for verdict in writer.append(map_parse(batch)).verdicts]
        engine.dispose()
        return found

    with ThreadPoolExecutor(6) as clients:
        verdicts = [verdict for found in clients.map(append, range(6)) for verdict in found]
    count = sum(map(len, batches))
    assert verdicts.count(Verdict.STORED) == verdicts.count(Verdict.DUPLICATE) == count
    for reading in (pooled, store):
        reader = Reader(reading.database)
        assert len(list(reader.runs(_WINDOW))) == len(list(reader.run_datasets(_WINDOW))) == count
        assert reader.event_summary(_WINDOW).event_count == count
        assert reader.status().counts["ol_event"].rows == count
        assert list(Verifier(reading).verify()) == []


def map_parse(batch: list[bytes]) -> list[Any]:
    return [parse(body) for body in batch]


def test_dead_letters_and_refusals(pooled: LogStore) -> None:
    """What is refused by parsing is kept, too."""
    appended = pooled.append([parse(b"{"), *map_parse(bodies(1))], positions=["1", "2"])
    assert (appended.dead, appended.stored) == (1, 1)
    assert Reader(pooled.database).status().dead_letters == {"new": 1}


def test_rebuild_works(pooled: LogStore, store_url: str) -> None:
    """verify and rebuild need no session: each chunk is a transaction."""
    pooled.append(map_parse(bodies(5)))
    with connect(store_url) as connection:
        connection.execute("UPDATE openlineage.ol_run SET status = 'FAIL'")
    assert len(list(Verifier(pooled).rebuild())) == 5
    assert list(Verifier(pooled).verify()) == []


def test_settings_hold_in_every_transaction_and_do_not_leak(pooled: LogStore, pooled_url: str) -> None:
    """Ours in each of our transactions, however it begins; another program's on the same sessions stay its own."""
    shown = (
        "SELECT current_setting('search_path'), current_setting('TimeZone'), current_setting('transaction_isolation')"
    )
    with driver_connection(pooled.engine) as connection:
        for _ in range(2):
            assert connection.execute(shown).fetchone() == ("pg_catalog, pg_temp", "UTC", "read committed")
            connection.rollback()
    with pooled.engine.connect() as connection:
        assert connection.exec_driver_sql(shown).one()[0] == "pg_catalog, pg_temp"
    pooled.append(map_parse(bodies(2)))
    with connect(pooled_url, prepare_threshold=None) as other:
        assert other.execute("SELECT current_setting('search_path')").fetchone() == ('"$user", public',)
        assert other.execute("SELECT count(*) FROM pg_prepared_statements").fetchone() == (0,)


@pytest.mark.parametrize("surround", SURROUNDINGS, ids=lambda each: each.__name__)
def test_hostile_surroundings(pooled: LogStore, store_url: str, surround: Callable[[str], None]) -> None:
    """What the database brings along changes nothing there either, in pipelines, COPY and psycopg's statements."""
    surround(store_url)
    told = [("FAIL", 9), ("START", 7), ("COMPLETE", 9), ("RUNNING", 8)]
    for kind, hour in told:
        body = encode(event("merged", kind, eventTime=f"2026-03-01T{hour:02}:00:00Z"))
        assert pooled.append([parse(body), parse(b"{")]).verdicts == (Verdict.STORED, Verdict.DEAD)
    assert pooled.append(map_parse(bodies(120))).stored == 120
    (run,) = Reader(pooled.database).runs(_WINDOW, status="FAIL")
    assert run.last_event_time == datetime(2026, 3, 1, 9, tzinfo=UTC)
    assert list(Verifier(pooled).verify()) == []
    with admin(store_url) as connection:
        fresh = "SELECT bool_and(received_at > now() - interval '1 day') FROM openlineage.ol_event"
        assert connection.execute(fresh).fetchone() == (True,)


def test_commands_that_write_and_read(pooled_url: str, store: LogStore) -> None:
    """`load`, `list`, `status`, `store verify`, `store init` on a whole store, and `doctor`."""
    loaded = run_here("load", "-", "--database", pooled_url, stdin=b"".join(bodies(150)))
    assert (loaded.code, loaded.err) == (0, "")
    listed = run_here(
        "list", "runs", "--database", pooled_url, "--since", "2026-03-01", "--until", "2026-03-02", "--json"
    )
    assert len(listed.rows) == 150
    assert run_here("status", "--database", pooled_url).code == 0
    assert run_here("store", "verify", "--database", pooled_url).code == 0
    assert run_here("store", "init", "--months", "2", "--database", pooled_url).code == 0
    checks = {
        check["subject"]: check for check in run_here("doctor", "--json", "--database", pooled_url).json["checks"]
    }
    assert "pooler" in checks["connections"]["observed"]
    assert checks["connections"]["advice"] is None
    assert list(Verifier(store).verify()) == []


def test_serve(pooled_url: str) -> None:
    """`serve` takes events and answers questions."""
    with serve_process("--database", pooled_url) as (_, port, _):
        for body in bodies(3):
            post = urllib.request.Request(f"http://127.0.0.1:{port}/api/v1/lineage", data=body.strip(), method="POST")
            post.add_header("Content-Type", "application/json")
            with urllib.request.urlopen(post, timeout=PATIENCE) as answer:
                assert answer.status == 201
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/runs/run-1", timeout=PATIENCE) as found:
            assert json.load(found)["run_id"] == "run-1"


def needs_a_session(*command: str) -> None:
    """The command is refused in one line that says so."""
    refused = run_here(*command)
    assert (refused.code, refused.err.count("\n")) == (2, 1), command
    assert "session pooling" in refused.err


def test_what_needs_a_session_says_so(pooled: LogStore, pooled_url: str, store_url: str, tmp_path: Path) -> None:
    """Locks that outlast a transaction are not to be had: one clear line instead of two purges at once."""
    for call in (
        lambda: purge(pooled, datetime(2026, 3, 1, tzinfo=UTC)),
        lambda: Forwarding(pooled.database).lease("target").__enter__(),
    ):
        with pytest.raises(SettingsError, match="session pooling"):
            call()
    for command in (
        ("store", "purge", "--older-than", "90d"),
        ("consume", "--brokers", "127.0.0.1:1", "--topic", "t"),
    ):
        needs_a_session(*command, "--database", pooled_url)
    with connect(store_url) as connection:
        connection.execute("DROP TABLE openlineage.ol_kafka_offset")
        connection.execute("UPDATE openlineage.ol_store SET version = 1")
    with pytest.raises(SettingsError, match="session pooling"):
        pooled.create()
    needs_a_session("store", "init", "--database", pooled_url)


@pytest.mark.parametrize("pooler", ["session"], indirect=True)
def test_session_pooling(pooler: Pooler, store_url: str) -> None:
    """A pool of sessions is not to be told from one of transactions, so the URL says it; then all works."""
    url = pooler.url(store_url, pooling="session")
    engine = open_engine(url, pool_size=1)
    store = LogStore(Database(engine))
    assert store.append(map_parse(bodies(3))).stored == 3
    assert purge(store, datetime(2026, 4, 1, tzinfo=UTC)).events == 3
    engine.dispose()


def test_a_connection_of_its_own_is_found_out(store: LogStore) -> None:
    """Without a pooler the settings are the session's, and statements are prepared."""
    with driver_connection(store.engine) as connection:
        assert isinstance(connection, Connection)
        assert not connection.is_pooled
        assert connection.opening() is None


def test_pooling_is_one_of_three() -> None:
    """A word that means nothing is refused by name."""
    with pytest.raises(LineageLogError, match="pooling=statement in the database URL: it is one of auto, session"):
        open_engine("postgresql://me@db/lineage?pooling=statement")


def round_trips(engine_url: str, tmp_path: Path, batch: list[bytes]) -> int:
    """How often one append waits for the database, once its connection is warm: each wait ends in ReadyForQuery."""
    engine = open_engine(engine_url, pool_size=1)
    store = LogStore(Database(engine))
    store.append(map_parse(bodies(1, first=10**6)))
    trace = tmp_path / f"trace-{threading.get_ident()}-{len(list(tmp_path.iterdir()))}"
    with driver_connection(engine) as connection:
        pgconn = connection.pgconn
    with trace.open("wb") as file:
        pgconn.trace(file.fileno())
        assert store.append(map_parse(batch)).stored == len(batch)
        pgconn.untrace()
    engine.dispose()
    return trace.read_text(errors="replace").count("ReadyForQuery")


def test_an_append_waits_twice(pooled_url: str, store_url: str, tmp_path: Path) -> None:
    """Once for the pipeline that begins and writes, once for COMMIT; our settings cost no more, pooled or not."""
    assert round_trips(store_url, tmp_path, bodies(2)) == 2
    assert round_trips(pooled_url, tmp_path, bodies(2, first=10)) == 2
