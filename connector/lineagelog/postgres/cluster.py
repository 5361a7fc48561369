"""One PostgreSQL cluster in a data directory: its files, its settings, and its postmaster process."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import stat
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lineagelog.errors import EmbeddedError
from lineagelog.postgres.binaries import Account, Binaries, run_checked

if TYPE_CHECKING:
    from collections.abc import Callable

USER = "lineagelog"
PORT = 5432
_SOCKET_DIR_BYTES = 88  # sun_path holds 107 bytes on Linux and 103 on macOS, "/.s.PGSQL.5432" takes 14
_MESSAGE = re.compile(r"\b(LOG|WARNING|FATAL|PANIC):\s+(.*)|(.*error while loading shared libraries.*)")

# `_memory_settings` are added. Error texts are terse and without statements: both would carry pieces of
# events, and events carry credentials.
_SETTINGS = """\
# Written by lineagelog at every start: do not edit. Your own settings go to local.conf beside it, and win.
listen_addresses = ''
unix_socket_permissions = 0700
max_connections = 100
timezone = 'UTC'
log_timezone = 'UTC'
lc_messages = 'C'
cluster_name = 'lineagelog'
jit = off

fsync = on
synchronous_commit = on
full_page_writes = on
max_wal_size = 4GB
min_wal_size = 256MB
checkpoint_timeout = 15min
random_page_cost = 1.1
work_mem = 16MB
maintenance_work_mem = 128MB

# Tables that mostly grow: look at them by what was added, often and a little at a time.
autovacuum_naptime = 30s
autovacuum_vacuum_scale_factor = 0.05
autovacuum_vacuum_insert_scale_factor = 0.1
autovacuum_analyze_scale_factor = 0.02

logging_collector = on
log_directory = '../log'
log_filename = 'postgresql-%a.log'
log_rotation_age = 1d
log_rotation_size = 0
log_truncate_on_rotation = on
log_line_prefix = '%m [%p] %u@%d %a '
log_error_verbosity = terse
log_min_error_statement = panic
"""
_LOCAL = """\
# Your own settings of this PostgreSQL cluster go here. They win over lineagelog.conf, which is written anew
# at every start, and take effect at the next start.
"""


@dataclass(frozen=True, slots=True)
class Cluster:
    """The cluster of `data_dir` (absolute, without symbolic links), run by `account`."""

    data_dir: Path
    account: Account

    @property
    def pgdata(self) -> Path:
        """PostgreSQL's own data directory."""
        return pgdata_of(self.data_dir)

    def major(self) -> int | None:
        """Return the major version that made the cluster, None when there is none yet."""
        if not self.pgdata.exists():
            return None
        try:
            return int((self.pgdata / "PG_VERSION").read_text())
        except (FileNotFoundError, ValueError):
            raise EmbeddedError(f"{self.pgdata} is not a PostgreSQL cluster: move it away") from None

    def create(self, binaries: Binaries, on_progress: Callable[[str], None]) -> None:
        """Make the cluster with initdb, beside its place, then rename it: it is there whole or not at all."""
        on_progress(f"first start: creating the database in {self.data_dir} (PostgreSQL {binaries.version})…")
        for left in self.data_dir.glob("cluster.init-*"):
            shutil.rmtree(left, ignore_errors=True)
        work = Path(tempfile.mkdtemp(prefix="cluster.init-", dir=self.data_dir))
        os.chown(work, self.account.uid, self.account.gid)
        locale = ["--locale=C"]
        if binaries.major >= 17:  # sorts like C (by bytes) and knows upper and lower case of all letters
            locale += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        common = [f"--username={USER}", "--auth-local=trust", "--auth-host=scram-sha-256", "--encoding=UTF8"]
        try:
            run_checked(
                self.account,
                binaries.bin_dir / "initdb",
                f"--pgdata={work}",
                "--data-checksums",
                *common,
                *locale,
            )
            _append(
                work / "postgresql.conf",
                "\ninclude = '../lineagelog.conf'\ninclude_if_exists = '../local.conf'\n",
            )
            work.rename(self.pgdata)
            _sync_folder(self.data_dir)
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def write_settings(self, binaries: Binaries) -> None:
        """Write lineagelog.conf, with lz4 if the server has it, and an empty local.conf if there is none."""
        local = self.data_dir / "local.conf"
        if not local.exists():
            _write(local, _LOCAL)
        plain = _SETTINGS + _memory_settings(_memory_mb())
        _write(self.data_dir / "lineagelog.conf", plain)
        probe = self.account.run(
            binaries.bin_dir / "postgres",
            "-D",
            self.pgdata,
            "-C",
            "wal_compression",
            "-c",
            "wal_compression=lz4",
        )
        if probe.returncode == 0:
            lz4 = "\nwal_compression = lz4\ndefault_toast_compression = lz4\n"
            _write(self.data_dir / "lineagelog.conf", plain + lz4)

    def launch(self, binaries: Binaries) -> int:
        """Start the postmaster and return its process number.

        It gets a session of its own: it outlives us, and a Ctrl-C at our terminal is not for it.
        """
        own_folder(self.data_dir / "log", self.account)
        sockets = own_folder(socket_dir_of(self.data_dir), self.account)
        self._forget_dead(sockets)
        command = [binaries.bin_dir / "postgres", "-D", self.pgdata, "-k", sockets, "-p", str(PORT)]
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        log = os.open(self.data_dir / "startup.log", flags, 0o600)
        try:
            # the shell puts it into the background and is gone: no child of ours is left behind
            launched = subprocess.run(  # noqa: S603 - our own arguments
                ["/bin/sh", "-c", '"$@" >&2 & echo $!', "sh", *map(str, command)],
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                check=True,
                **self.account.popen_arguments(),
            )
        finally:
            os.close(log)
        return int(launched.stdout)

    def _forget_dead(self, sockets: Path) -> None:
        """Remove what a killed server left behind, where PostgreSQL would take it for a running one.

        It does so when the dead server's process number was given to another process of the same account, as
        happens in restarted containers. Otherwise its own check (shared memory in use) is the better one.
        """
        recorded = self._recorded_pid()
        if recorded is not None and Path(f"/proc/{recorded}").exists():
            (self.pgdata / "postmaster.pid").unlink(missing_ok=True)
        for left in sockets.glob(f".s.PGSQL.{PORT}*"):
            left.unlink(missing_ok=True)

    def pid(self) -> int | None:
        """Return the running postmaster's process number; None if it is dead or its number reused."""
        recorded = self._recorded_pid()
        return recorded if recorded is not None and self.is_postmaster(recorded) else None

    def is_postmaster(self, pid: int) -> bool:
        """Whether the process is this cluster's postmaster; where there is no /proc, whether it exists."""
        if not Path("/proc/self/cmdline").exists():
            return _exists(pid)
        try:
            arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            return False
        return os.fsencode(self.pgdata) in arguments

    def is_ready(self) -> bool:
        """Whether the postmaster says that it takes connections (the eighth line of its file)."""
        return self._pid_file()[7:8] == ["ready"]

    def _recorded_pid(self) -> int | None:
        first = "".join(self._pid_file()[:1])
        return int(first) if first.isdigit() else None

    def _pid_file(self) -> list[str]:
        try:
            text = (self.pgdata / "postmaster.pid").read_text(errors="replace")
        except FileNotFoundError:
            return []
        return [line.strip() for line in text.splitlines()]

    def bin_dir(self) -> Path:
        """Return the folder of the programs that the server was last started with."""
        command = (self.pgdata / "postmaster.opts").read_text(errors="surrogateescape")
        return Path(command.split(' "-D"', 1)[0]).parent

    def stop(self) -> None:
        """Ask the postmaster for a fast shutdown: sessions are ended, a checkpoint is written."""
        if (pid := self.pid()) is not None:
            os.kill(pid, signal.SIGINT)

    def last_words(self) -> str:
        """Return the last messages of a server that did not come up, and the one that ended it."""
        said = _messages(self.data_dir / "startup.log")
        logs = sorted((self.data_dir / "log").glob("*.log"), key=lambda path: path.stat().st_mtime)
        if any("redirecting log output" in text for _, text in said) and logs:
            said = _messages(logs[-1])
        starts = [place for place, (_, text) in enumerate(said) if text.startswith("starting PostgreSQL")]
        said = said[starts[-1] :] if starts else said
        # to clients it says FATAL, too: that it is starting up, or not yet accepting connections
        fatal = [text for is_fatal, text in said if is_fatal and not text.startswith("the database system is")]
        words = dict.fromkeys([*fatal[-1:], *(text for _, text in said[-2:])])
        return "; ".join(words) or f"it ended without a message in {self.data_dir / 'startup.log'}"


def pgdata_of(data_dir: Path) -> Path:
    """Return the place of PostgreSQL's own data directory in lineagelog's."""
    return data_dir / "cluster"


def socket_dir_of(data_dir: Path) -> Path:
    """Return the folder of the server's Unix socket, in the data directory if its path is short and plain.

    Else (sockets allow 107 bytes, PostgreSQL's list of hosts no commas) it is a private one in /tmp, named by
    the data directory. /tmp and not $TMPDIR or $XDG_RUNTIME_DIR: every process must find the same folder,
    whatever its environment.
    """
    inside = data_dir / "run"
    if len(os.fsencode(inside)) <= _SOCKET_DIR_BYTES and re.fullmatch(r"[A-Za-z0-9_./+~-]+", str(inside)):
        return inside
    return Path("/tmp") / f"lineagelog-{hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]}"  # noqa: S108 - own_folder checks it


def own_folder(folder: Path, account: Account) -> Path:
    """Make `folder` if need be, for `account` alone; EmbeddedError when somebody else owns what is there."""
    folder.mkdir(mode=0o700, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        owner = os.fstat(handle).st_uid
        if owner not in (account.uid, os.geteuid()):
            raise EmbeddedError(f"{folder} belongs to {Account.of_uid(owner).name}, not to {account.name}: remove it")
        if owner != account.uid:
            os.fchown(handle, account.uid, account.gid)
        if stat.S_IMODE(os.fstat(handle).st_mode) != 0o700:
            os.fchmod(handle, 0o700)
    finally:
        os.close(handle)
    return folder


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _memory_mb() -> int:
    """Return the machine's memory in MB, or the container's when that is less."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except OSError:
        return machine
    return min(machine, int(limit) >> 20) if limit.isdigit() else machine


def _memory_settings(memory_mb: int) -> str:
    """Return the settings that follow the memory: modest, as other programs share the machine."""
    shared = max(64, min(memory_mb // 8, 2048))
    return f"\nshared_buffers = {shared}MB\neffective_cache_size = {max(128, memory_mb // 2)}MB\n"


def _messages(log: Path) -> list[tuple[bool, str]]:
    """Return whether each message of the log is a server's end, and its text."""
    try:
        found = _MESSAGE.finditer(log.read_text(errors="replace")[-20_000:])
    except OSError:
        return []
    return [(each[1] in ("FATAL", "PANIC"), each[2] or each[3]) for each in found]


def _append(path: Path, text: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
    with os.fdopen(handle, "a", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(handle)


def _write(path: Path, text: str) -> None:
    """Write a file of the data directory, readable to the server's account, at once or not at all."""
    handle, name = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fchmod(handle, 0o644)
        Path(name).rename(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
