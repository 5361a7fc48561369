"""The embedded PostgreSQL: a private server in a data directory, shared by the lineagelog processes on it.

Two locks (flock, so that they vanish with a killed process) keep the processes apart: `start.lock` is held
while the server is started or stopped, `users.lock` is held shared by everybody who uses it. Whoever leaves
and gets `users.lock` alone was the last one, and stops the server.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import re
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import quote

import psycopg
from psycopg.conninfo import make_conninfo

from lineagelog.errors import EmbeddedError
from lineagelog.postgres.binaries import account_for, check_reachable, find_binaries
from lineagelog.postgres.cluster import PORT, USER, Cluster, pgdata_of, socket_dir_of
from lineagelog.settings import expand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DATABASE = "lineagelog"
DATA_DIR_VARIABLE = "LINEAGELOG_DATA_DIR"
_PAUSE = 0.02  # seconds between two looks at a server or lock
_SETTLE = 30.0  # seconds in which the leftovers of a killed server must be gone, and a ready server must answer
_LOOK = 1.0  # seconds between two looks of the watch
_LOOK_AGAIN = 5.0  # seconds after a start that failed
_STOP = 120.0  # seconds that a stopping server may take for its checkpoint
_NOT_IN_SHELL = re.compile(r'["$`\n\r]|\\{2}')
_PASSING = ("pre-existing shared memory block", 'lock file "postmaster.pid" already exists')


def default_data_dir() -> Path:
    """Return `LINEAGELOG_DATA_DIR`, else /var/lib/lineagelog for root, else ~/.local/share/lineagelog."""
    if chosen := os.environ.get(DATA_DIR_VARIABLE):
        return Path(chosen)
    if os.geteuid() == 0:
        return Path("/var/lib/lineagelog")
    share = os.environ.get("XDG_DATA_HOME", "")
    return (Path(share) if share.startswith("/") else Path("~/.local/share")) / "lineagelog"


def _usable(folder: Path) -> Path:
    """The folder in full. Raises EmbeddedError for one whose name PostgreSQL's own programs cannot work with.

    initdb runs postgres through a shell, with the path in double quotes.
    """
    try:
        found = expand(folder).resolve()
        str(found).encode()
    except ValueError as error:  # UnicodeEncodeError is one
        cause = "its name is not UTF-8" if isinstance(error, UnicodeEncodeError) else str(error)
        raise EmbeddedError(f"the data directory {str(folder)!r} cannot be used: {cause}") from error
    if _NOT_IN_SHELL.search(str(found)):
        raise EmbeddedError(
            f"the data directory {str(found)!r} cannot be used: PostgreSQL's initdb does not work where a path holds "
            "a double quote, $, a backquote or a line break: choose another with --data-dir"
        )
    return found


@dataclass(frozen=True, slots=True)
class _Facts:
    """What the running server says of itself."""

    version: str
    has_lz4: bool


class EmbeddedPostgres:
    """The server of `data_dir`, started by `start()` or `with` when it does not run yet.

    Errors are EmbeddedError with one line for a person. `on_progress` is called with such lines while one
    waits; `timeout` (seconds) bounds the wait for a start, which may have to recover from a crash first.
    """

    def __init__(
        self,
        data_dir: Path | None = None,
        *,
        on_progress: Callable[[str], None] = lambda _: None,
        timeout: float = 600.0,
    ) -> None:
        self.data_dir = _usable(data_dir or default_data_dir())
        self._on_progress = on_progress
        self._timeout = timeout
        self._users: int | None = None
        self._owner_pid = 0
        self._facts: _Facts | None = None

    @property
    def socket_dir(self) -> Path:
        """The folder of the server's Unix socket."""
        return socket_dir_of(self.data_dir)

    @property
    def url(self) -> str:
        """The database as SQLAlchemy writes it."""
        return self.url_of(DATABASE)

    def url_of(self, database: str) -> str:
        """Return the SQLAlchemy URL of another database of this server."""
        host = quote(str(self.socket_dir), safe="/")
        return f"postgresql+psycopg://{USER}@/{quote(database, safe='')}?host={host}&port={PORT}"

    @property
    def dsn(self) -> str:
        """The database as libpq writes it: `psql "$dsn"`."""
        return self.dsn_of(DATABASE)

    def dsn_of(self, database: str) -> str:
        """Return the libpq connection string of another database of this server."""
        return make_conninfo(host=str(self.socket_dir), port=PORT, user=USER, dbname=database)

    @property
    def version(self) -> str:
        """The server's version, such as `18.6`."""
        return self._known().version

    @property
    def has_lz4(self) -> bool:
        """Whether the server can compress with lz4."""
        return self._known().has_lz4

    @property
    def bin_dir(self) -> Path:
        """The folder of psql, pg_dump and the other programs of the running server."""
        self._known()
        return self._cluster().bin_dir()

    def _known(self) -> _Facts:
        if self._facts is None:
            raise EmbeddedError("the embedded PostgreSQL is not started")
        return self._facts

    def is_made(self) -> bool:
        """Whether the cluster is there, running or not; nothing is started or made to find out."""
        try:
            self._refuse_foreign()
            return self._cluster().major() is not None
        except OSError as error:
            raise EmbeddedError(f"the embedded PostgreSQL cannot use {error.filename}: {error.strerror}") from error

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def start(self) -> None:
        """Use the server, starting it if it does not run; called again, restart it if it died."""
        try:
            self._make_data_dir()
            with self._start_lock():
                self._bring_up(self._cluster())
                self._facts = self._prepare_database()
                self._join()
        except OSError as error:
            where = error.filename if error.filename is not None else self.data_dir
            raise EmbeddedError(f"the embedded PostgreSQL cannot use {where}: {error.strerror or error}") from error
        except psycopg.Error as error:
            raise EmbeddedError(f"the embedded PostgreSQL in {self.data_dir} fails: {_one_line(error)}") from error
        except (KeyboardInterrupt, SystemExit):
            self._leave()
            raise

    @contextlib.contextmanager
    def watched(self, on_event: Callable[[str], None]) -> Iterator[None]:
        """Within the block, start the server again when it has died: killed, out of memory, its disk full.

        `on_event` is told, on a thread of its own, in lines for a person.
        """
        ended = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(ended, on_event), name="lineagelog-watch", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()

    def _watch(self, ended: threading.Event, on_event: Callable[[str], None]) -> None:
        pause = _LOOK
        while not ended.wait(pause):
            try:
                cluster = self._cluster()
                # without its folder there is nothing to come back to: an empty one would only hide that
                if cluster.pid() is None and cluster.major() is not None:
                    on_event("the embedded PostgreSQL has died: starting it again")
                    self.start()
                    on_event("the embedded PostgreSQL runs again")
                pause = _LOOK
            except (EmbeddedError, OSError) as error:
                on_event(str(error))
                pause = _LOOK_AGAIN

    def release(self) -> None:
        """Leave the server, and stop it if nobody else uses it; again, or in a forked child: do nothing."""
        if self._users is None or self._owner_pid != os.getpid():
            return
        atexit.unregister(self.release)
        self._leave()

    def _cluster(self) -> Cluster:
        return Cluster(self.data_dir, account_for(self.data_dir, pgdata_of(self.data_dir)))

    def _make_data_dir(self) -> None:
        if not self.data_dir.exists():
            self.data_dir.mkdir(parents=True, exist_ok=True)
            # root's server runs as another account, which has to pass through and must not look around
            self.data_dir.chmod(0o711 if os.geteuid() == 0 else 0o700)
        self._refuse_foreign()

    def _refuse_foreign(self) -> None:
        if (self.data_dir / "PG_VERSION").exists():
            raise EmbeddedError(f"{self.data_dir} is a PostgreSQL cluster itself: use another data directory")

    def _lock_file(self, name: str) -> int:
        """Open a lock file, for the owner of the data directory also when root makes it."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        handle = os.open(self.data_dir / name, flags, 0o600)
        owner = self.data_dir.stat()
        if os.geteuid() == 0 and os.fstat(handle).st_uid != owner.st_uid:
            os.fchown(handle, owner.st_uid, owner.st_gid)
        return handle

    @contextlib.contextmanager
    def _start_lock(self) -> Iterator[None]:
        handle = self._lock_file("start.lock")
        try:
            begin = time.monotonic()
            told = False
            while not _try_lock(handle):
                waited = time.monotonic() - begin
                if waited > self._timeout:
                    raise EmbeddedError(f"another lineagelog starts or stops {self.data_dir} for {waited:.0f} s now")
                if waited > 1 and not told:
                    self._on_progress("waiting for another lineagelog that starts or stops the database…")
                    told = True
                time.sleep(_PAUSE)
            yield
        finally:
            os.close(handle)

    def _bring_up(self, cluster: Cluster) -> None:
        """Return when the server answers, having started it if none runs; the start lock is ours."""
        begin = time.monotonic()
        launched: int | None = None
        ready: float | None = None
        told = False
        while (refusal := self._refusal()) is not None:
            waited = time.monotonic() - begin
            if cluster.pid() is None and (launched is None or not cluster.is_postmaster(launched)):
                said = cluster.last_words() if launched else ""
                if launched and not (waited < _SETTLE and any(each in said for each in _PASSING)):
                    raise EmbeddedError(f"the embedded PostgreSQL in {self.data_dir} does not start: {said}")
                launched = self._launch(cluster)
            ready = (waited if ready is None else ready) if cluster.is_ready() else None
            if waited > (self._timeout if ready is None else ready + _SETTLE):
                where = f"the embedded PostgreSQL in {self.data_dir}"
                raise EmbeddedError(f"{where} does not let us in after {waited:.0f} s: {refusal}")
            if waited > 2 and not told:
                self._on_progress("waiting for the database to be ready (after a crash it recovers first)…")
                told = True
            time.sleep(_PAUSE)

    def _launch(self, cluster: Cluster) -> int:
        check_reachable(cluster.account, self.data_dir)
        binaries = find_binaries(self.data_dir, cluster.account, cluster.major(), self._on_progress)
        if cluster.major() is None:
            cluster.create(binaries, self._on_progress)
        cluster.write_settings(binaries)
        return cluster.launch(binaries)

    def _refusal(self) -> str | None:
        """Return why the server does not let us in, None when it does."""
        try:
            psycopg.connect(self.dsn_of("postgres"), connect_timeout=5).close()
        except psycopg.OperationalError as error:
            return _one_line(error)
        return None

    def _prepare_database(self) -> _Facts:
        """Make our database if it is not there, and ask the server what it can do."""
        with psycopg.connect(self.dsn_of("postgres"), autocommit=True, connect_timeout=5) as connection:
            if connection.execute("SELECT FROM pg_database WHERE datname = %s", [DATABASE]).rowcount == 0:
                connection.execute(f'CREATE DATABASE "{DATABASE}"')
            lz4 = "SELECT 'lz4' = ANY (enumvals) FROM pg_settings WHERE name = 'default_toast_compression'"
            row = connection.execute(
                f"SELECT split_part(current_setting('server_version'), ' ', 1), ({lz4})"
            ).fetchone()
        if row is None:
            raise EmbeddedError("the embedded PostgreSQL does not say its version")
        return _Facts(version=row[0], has_lz4=bool(row[1]))

    def _join(self) -> None:
        """Hold users.lock shared; the start lock is ours."""
        if self._users is not None:
            return
        self._users = self._lock_file("users.lock")
        fcntl.flock(self._users, fcntl.LOCK_SH)
        self._owner_pid = os.getpid()
        atexit.register(self.release)

    def _leave(self) -> None:
        try:
            with self._start_lock():
                if self._users is not None:
                    os.close(self._users)  # not LOCK_UN, which would unlock it for a forked child too
                    self._users = None
                self._facts = None
                self._stop_if_last()
        except FileNotFoundError:
            return  # the data directory was removed: a server without it ends by itself
        except OSError as error:
            raise EmbeddedError(f"the embedded PostgreSQL in {self.data_dir} cannot be left: {error}") from error

    def _stop_if_last(self) -> None:
        alone = self._lock_file("users.lock")
        try:
            if not _try_lock(alone):
                return
            cluster = self._cluster()
            cluster.stop()
            if not _wait_for(lambda: cluster.pid() is None, _STOP):
                self._on_progress(f"the embedded PostgreSQL in {self.data_dir} is still stopping")
        finally:
            os.close(alone)


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait_for(condition: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(_PAUSE)
    return True


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
