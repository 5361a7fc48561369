"""`store init` beside writers: it looks, makes what is missing, and harms nobody."""

from __future__ import annotations

import itertools
import subprocess
import threading
from typing import TYPE_CHECKING, Any

import pytest

from lineagelog.errors import StoreUnavailable
from lineagelog.event.parse import parse
from lineagelog.store import Database, LogStore, Verifier, open_engine
from lineagelog.store.definition import creation, tables
from tests.support import COMMAND, PATIENCE, connect, encode, event, run_here

from .contents import CATALOG

if TYPE_CHECKING:
    from collections.abc import Iterator

_WRITERS = 3
_CHECKED = {"dataQualityAssertions": {"assertions": [{"assertion": "unique", "success": True}]}}
_OUTPUTS = [{"namespace": "db", "name": "out", "outputFacets": _CHECKED}]


class Writers:
    """Writers that append all the time, each in a month of its own and the next ones."""

    def __init__(self, url: str) -> None:
        self.stored = 0
        self.errors: list[BaseException] = []
        self._url = url
        self._stop, self._lock = threading.Event(), threading.Lock()
        self._numbers = itertools.count()
        self._threads = [threading.Thread(target=self._write, args=(number,)) for number in range(_WRITERS)]

    def __enter__(self) -> Writers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def wait_for_more(self, events: int) -> None:
        """Until so many more are stored."""
        wanted = self.stored + events
        while self.stored < wanted and not self.errors:
            self._stop.wait(0.02)

    def _write(self, writer: int) -> None:
        engine = open_engine(self._url, pool_size=1)
        store = LogStore(Database(engine))
        try:
            while not self._stop.is_set():
                number = next(self._numbers)
                time = f"20{10 + writer}-{number // 40 % 12 + 1:02}-01T00:00:00Z"
                batch = [event(f"run-{number}-{part}", eventTime=time, outputs=_OUTPUTS) for part in range(5)]
                appended = store.append([parse(encode(each)) for each in batch])
                with self._lock:
                    self.stored += appended.stored
        except BaseException as error:
            self.errors.append(error)
        finally:
            engine.dispose()


def init_twice(url: str, *options: str) -> list[tuple[int, str]]:
    """`store init` from two processes at once: exit code and stderr of each."""
    command = [COMMAND, "store", "init", *options, "--database", url]
    both = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    ended = [process.communicate(timeout=PATIENCE) for process in both]
    return [(process.returncode, error) for process, (_, error) in zip(both, ended, strict=True)]


@pytest.mark.long
def test_init_beside_writers(store_url: str, store: LogStore) -> None:
    """From cron on a running store, twice at once, again and again: no deadlock, no error, nothing lost."""
    with Writers(store_url) as writers:
        for months in (1, 3):
            writers.wait_for_more(50)
            assert init_twice(store_url, "--months", str(months)) == [(0, "")] * 2
            store.create()
        writers.wait_for_more(50)
    assert writers.errors == []
    with connect(store_url) as connection:
        assert connection.execute("SELECT count(*) FROM openlineage.ol_event").fetchone() == (writers.stored,)
        assert connection.execute(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        ).fetchone() == (0,)
    assert list(Verifier(store).verify()) == []


@pytest.fixture
def incomplete_url(store_url: str) -> Iterator[str]:
    """A store as an older version left it: no table of Kafka's offsets, an index and descriptions fewer, no lz4."""
    with connect(store_url, autocommit=True) as connection:
        for statement in (
            "DROP TABLE openlineage.ol_kafka_offset",
            "UPDATE openlineage.ol_store SET version = 1",
            "DROP INDEX openlineage.ol_run_job",
            "DROP INDEX openlineage.ol_event_arrival",
            "DROP TABLE openlineage.ol_event_from_2100",
            "COMMENT ON TABLE openlineage.ol_run IS NULL",
            "ALTER TABLE openlineage.ol_event ALTER COLUMN event SET COMPRESSION pglz",
        ):
            connection.execute(statement.encode())
    yield store_url


def catalog(url: str) -> list[Any]:
    with connect(url) as connection:
        return [row for row in connection.execute(CATALOG.encode()).fetchall() if "ol_event_y" not in str(row)]


@pytest.mark.long
def test_an_incomplete_store_is_made_whole_beside_writers(
    incomplete_url: str, store: LogStore, store_template: str, new_database: Any
) -> None:
    """Two processes make what is missing, while batches are stored; then nothing differs from a new store."""
    with connect(incomplete_url) as connection:  # writers of an older version are not ours to start
        connection.execute("UPDATE openlineage.ol_store SET version = %s", (tables.VERSION,))
    with Writers(incomplete_url) as writers:
        writers.wait_for_more(50)
        assert init_twice(incomplete_url) == [(0, "")] * 2
        writers.wait_for_more(50)
    assert writers.errors == []
    assert store.check_version() == tables.VERSION
    with new_database(store_template) as fresh:
        assert catalog(incomplete_url) == catalog(fresh)
    with connect(incomplete_url) as connection:
        assert connection.execute("SELECT count(*) FROM openlineage.ol_event").fetchone() == (writers.stored,)
    assert list(Verifier(store).verify()) == []


def every_table(connection: Any) -> str:
    names = connection.execute(
        "SELECT string_agg(format('%I.%I', n.nspname, c.relname), ', ') FROM pg_class c "
        "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'openlineage' AND c.relkind IN ('r', 'p')"
    ).fetchone()
    return str(names[0])


def test_a_whole_store_is_only_looked_at(store_url: str, store: LogStore) -> None:
    """Whoever holds locks that leave nothing but reading is not waited for: init takes ACCESS SHARE and no more."""
    with connect(store_url) as connection:
        connection.execute(f"LOCK TABLE {every_table(connection)} IN EXCLUSIVE MODE".encode())
        store.create()
        ran = run_here("store", "init", "--database", store_url)
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.long
def test_it_gives_up_with_a_clear_line(incomplete_url: str, store: LogStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a lock is never to be had, it says so and what to do; the months are made all the same."""
    monkeypatch.setattr(creation, "ATTEMPTS", 2)
    with connect(incomplete_url) as connection:
        connection.execute("LOCK TABLE openlineage.ol_run IN ROW EXCLUSIVE MODE")
        with pytest.raises(StoreUnavailable, match="a lock that the tables' definition needs is held by others"):
            store.create()
        refused = run_here("store", "init", "--months", "2", "--database", incomplete_url)
        assert (refused.code, refused.err.count("\n")) == (2, 1)
        assert refused.out == "partitions are there for 3 months\n"
        assert "run `lineagelog store init` again" in refused.err
        connection.rollback()
    assert run_here("store", "init", "--database", incomplete_url).code == 0


@pytest.mark.long
def test_stores_made_at_once(database_url: str) -> None:
    """Two processes make the same new store: one does, the other finds it."""
    assert init_twice(database_url) == [(0, "")] * 2
