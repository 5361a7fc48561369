"""Which runs of which processes are open, noted beside a spool: a run whose process is gone is ended as ABORT.

Below the spool's folder, ``runs/OWNER.live`` belongs to one process, which holds a lock on it for as long as it lives
(the kernel gives it back, however the process ends). Its first line says which process that is, each further one is an
event of an open run, the last one of a run counts, or says that a run is over. A terminal event is noted before it goes
to the spool, and the run is over after: whoever finds the file of a process that died in between sends that event
again, and no other.
"""

from __future__ import annotations

import contextlib
import contextvars
import errno
import json
import os
import platform
import secrets
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lineagelog.errors import SpoolError
from lineagelog.sdk.events import event_time
from lineagelog.sdk.facets import error_message_facet
from lineagelog.sdk.guard import describe, guarded, warn_once
from lineagelog.spool import is_same_file, try_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ENDS: Final = ("COMPLETE", "FAIL", "ABORT")
_COMPACT_BYTES: Final = 1024 * 1024
_owned: Final[contextvars.ContextVar[bool]] = contextvars.ContextVar("lineagelog_owned", default=False)


@contextlib.contextmanager
def owned() -> Iterator[None]:
    """What is emitted within belongs to a run that this process, and no other, will end."""
    token = _owned.set(True)
    try:
        yield
    finally:
        _owned.reset(token)


def is_owned() -> bool:
    """Whether the event that is emitted now is one of those."""
    return _owned.get()


# --- processes ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Identity:
    """What tells a process from all others."""

    host: str
    boot: str
    """The kernel's number for the time since the machine started; empty where it has none."""
    pids: str
    """The namespace that the process id belongs to."""
    pid: int
    started: str
    """When the process started, in the kernel's ticks."""

    def is_gone(self) -> bool:
        """Whether a process whose lock is free is really gone.

        A process of another machine that shares the folder is never known to be; one of this machine that gave its
        lock back but goes on (a daemon closes all files, `exec` too) is not.
        """
        here = identity()
        if (self.boot != here.boot or not self.boot) and self.host != here.host:
            return False
        return self.boot != here.boot or self.pids != here.pids or self.started != _started(self.pid)


def identity() -> Identity:
    """What tells this process from those of other machines, boots and containers, and from later ones of its number."""
    boot, pids = "", ""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        pids = str(Path("/proc/self/ns/pid").readlink())
    return Identity(platform.node(), boot, pids, os.getpid(), _started(os.getpid()))


def _started(pid: int) -> str:
    """When a process started; empty for one that is gone, and for a dead one that nobody has waited for.

    Where there is no ``/proc`` a process id that is in use counts as that process.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        if Path("/proc/self/stat").exists():
            return "gone"
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return "gone"
        except OSError:
            return ""
        return ""
    return "gone" if fields[0] in "ZX" else fields[19]


class _Owner:
    """This process's file in one folder, and its open runs there."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / f"{os.getpid()}-{secrets.token_hex(4)}.live"
        self._lock = threading.Lock()
        self._head = json.dumps(asdict(identity())).encode() + b"\n"
        self.runs: dict[str, bytes] = {}
        self._descriptor, self._file = self._make()

    def _make(self) -> tuple[int, os.stat_result]:
        """A file in place of the one that is there: no other process finds it before it is locked and written."""
        new = self._path.with_suffix(".new")
        descriptor = os.open(new, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            if not try_lock(descriptor):
                raise SpoolError(f"{new} cannot be locked")
            write_whole(descriptor, self._head + b"".join(self.runs.values()))
            new.rename(self._path)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor, os.fstat(descriptor)

    def note(self, run_id: str, record: bytes) -> None:
        """An event of an open run."""
        with self._lock:
            write_whole(self._own_file(), record + b"\n")
            self.runs[run_id] = record + b"\n"

    def over(self, run_id: str) -> None:
        """The run has ended."""
        with self._lock:
            del self.runs[run_id]
            descriptor = self._own_file()
            if not self.runs:
                os.ftruncate(descriptor, len(self._head))
                return
            write_whole(descriptor, _over(run_id))
            if os.fstat(descriptor).st_size > _COMPACT_BYTES + 2 * sum(map(len, self.runs.values())):
                self._descriptor, self._file = self._make()
                os.close(descriptor)

    def _own_file(self) -> int:
        """The file's number; where the job has closed all files, as daemons do, the number may be another file's."""
        if not self._is_ours():
            descriptor = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
            try_lock(descriptor)
            self._descriptor, self._file = descriptor, os.fstat(descriptor)
        return self._descriptor

    def _is_ours(self) -> bool:
        return is_same_file(self._descriptor, self._file)

    def leave(self) -> None:
        self._path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Give the lock back."""
        if self._is_ours():
            os.close(self._descriptor)


_owners: Final[dict[Path, _Owner]] = {}
_open: Final[dict[str, set[_Owner]]] = {}
"""Where the open runs of this process are noted."""


def _forget_parent() -> None:
    """After a fork: a child that kept the files open would keep its parent alive in the eyes of others."""
    for owner in _owners.values():
        owner.close()
    _owners.clear()
    _open.clear()


os.register_at_fork(after_in_child=_forget_parent)


@guarded("noting the end of a run", None)
def forget(run_id: str) -> None:
    """The last event of a run is on its way, wherever it went."""
    for owner in _open.pop(run_id, ()):
        owner.over(run_id)


def leave() -> None:
    """At the end of the process: its locks are free in a moment, and files without runs are of no use."""
    for folder, owner in list(_owners.items()):
        if not owner.runs:
            del _owners[folder]
            with contextlib.suppress(OSError):
                owner.leave()


# --- runs -----------------------------------------------------------------------------------------------------------


class Lives:
    """The notes beside one spool."""

    def __init__(self, spool_folder: Path, append: Callable[[bytes], None]) -> None:
        """``append`` puts an event into the spool; it may raise SpoolError."""
        self._folder = spool_folder.absolute() / "runs"
        self._append = append

    @guarded("noting an open run", None)
    def note(self, record: bytes) -> None:
        """Before an event of a run of this process goes to the spool."""
        event = json.loads(record)
        run_id, is_end = event["run"]["runId"], event.get("eventType") in _ENDS
        if is_end and run_id not in _open:
            return
        if self._folder not in _owners:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            made = _Owner(self._folder)
            if _owners.setdefault(self._folder, made) is not made:  # another thread was quicker
                made.leave()
        owner = _owners[self._folder]
        owner.note(run_id, record)
        _open.setdefault(run_id, set()).add(owner)

    def end_orphans(self) -> None:
        """End the open runs of processes that are gone."""
        for path in self._folder.glob("*.live"):
            self._end_orphans_of(path)

    @guarded("ending the runs of a process that is gone", None)
    def _end_orphans_of(self, path: Path) -> None:
        with contextlib.suppress(FileNotFoundError):  # another process was quicker
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
            try:
                if try_lock(descriptor) and os.path.samestat(path.stat(), os.fstat(descriptor)):
                    self._end_all(path, descriptor)  # and nobody else ends the same runs meanwhile
            finally:
                os.close(descriptor)

    def _end_all(self, path: Path, descriptor: int) -> None:
        head, *lines = path.read_bytes().splitlines()
        owner = Identity(**json.loads(head))
        if not owner.is_gone():
            return
        for run_id, event in _last_events(lines).items():
            record = json.dumps(event).encode()
            if event.get("eventType") not in _ENDS:
                record = json.dumps(_aborted(event, owner)).encode()
                write_whole(descriptor, record + b"\n")  # whoever comes after us sends the very same
            try:
                self._append(record)
            except SpoolError as problem:
                warn_once(f"lineage: a run of a process that is gone is ended later: {describe(problem)}")
                return
            write_whole(descriptor, _over(run_id))
        path.unlink(missing_ok=True)


def write_whole(descriptor: int, data: bytes) -> None:
    """Append to a file, all or nothing. Raises OSError."""
    size = os.fstat(descriptor).st_size
    if os.write(descriptor, data) != len(data):
        os.ftruncate(descriptor, size)
        raise OSError(errno.ENOSPC, "the note was written in part")


def _over(run_id: str) -> bytes:
    return json.dumps({"over": run_id}).encode() + b"\n"


def _last_events(lines: list[bytes]) -> dict[str, dict[str, Any]]:
    """The last event of each run that is not over; a line that is torn is none."""
    found: dict[str, dict[str, Any]] = {}
    for line in lines:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            noted = json.loads(line)
            if "over" in noted:
                found.pop(noted["over"], None)
            else:
                found[noted["run"]["runId"]] = noted
    return found


def _aborted(event: dict[str, Any], owner: Identity) -> dict[str, Any]:
    """The end of a run whose process did not tell it."""
    known, now = str(event.get("eventTime")), event_time()
    reason = (
        f"process {owner.pid} on {owner.host} is gone and did not end the run: killed, or left by os._exit. "
        f"Its last event is of {known}; this was noticed at {now}."
    )
    run = dict(event["run"])
    run["facets"] = {**(run.get("facets") or {}), "errorMessage": error_message_facet(reason)}
    return {**event, "eventType": "ABORT", "eventTime": max(known, now), "run": run}
