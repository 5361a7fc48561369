"""Which runs of which processes are open, noted beside a spool: a run whose process is gone is ended as ABORT.

Below the spool's folder, ``runs/OWNER.live`` belongs to one process, which holds a lock on it for as long as it lives
(the kernel gives it back, however the process ends), and ``runs/OWNER.RUN.run`` to one open run of it: a line of JSON
for each event that was noted, the last one counts. A terminal event is noted before it goes to the spool, and the note
is removed after: whoever finds the note of a process that died in between sends that event again, and no other.
"""

from __future__ import annotations

import contextlib
import contextvars
import errno
import json
import os
import platform
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lineagelog.errors import SpoolError
from lineagelog.spool import try_lock

from .events import event_time
from .facets import complete_facet
from .guard import describe, guarded, warn_once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ENDS: Final = ("COMPLETE", "FAIL", "ABORT")
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
    """This process."""
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
    """This process's lock in one folder, and its open runs there."""

    def __init__(self, folder: Path) -> None:
        self.name = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._path = folder / f"{self.name}.live"
        new = folder / f"{self.name}.new"  # no other finds the file before it is locked
        self.descriptor = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.write(self.descriptor, json.dumps(asdict(identity())).encode())
        if not try_lock(self.descriptor):
            raise SpoolError(f"{new} cannot be locked")
        self._file = os.fstat(self.descriptor)
        new.rename(self._path)

    def leave(self) -> None:
        self._path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Give the lock back; not by closing a file of the job's, which has our number since a daemon closed all."""
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(self.descriptor), self._file):
                os.close(self.descriptor)


_owners: Final[dict[Path, _Owner]] = {}
_open: Final[dict[str, set[Path]]] = {}
"""The notes of the runs that this process has open."""


def _forget_parent() -> None:
    """After a fork: a child that kept the files open would keep its parent alive in the eyes of others."""
    for owner in _owners.values():
        owner.close()
    _owners.clear()
    _open.clear()


os.register_at_fork(after_in_child=_forget_parent)


@guarded("removing the note of an open run", None)
def forget(run_id: str) -> None:
    """The last event of a run is on its way, wherever it went."""
    for path in _open.pop(run_id, ()):
        path.unlink(missing_ok=True)


def leave() -> None:
    """At the end of the process: its locks are free in a moment, and files without runs are of no use."""
    for folder, owner in list(_owners.items()):
        if not any(path.parent == folder for paths in _open.values() for path in paths):
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
        path = self._folder / f"{_owners[self._folder].name}.{run_id}.run"
        _write_line(path, record)
        _open.setdefault(run_id, set()).add(path)

    def end_orphans(self) -> None:
        """End the open runs of processes that are gone."""
        for path in self._folder.glob("*.live"):
            self._end_orphans_of(path)

    @guarded("ending the runs of a process that is gone", None)
    def _end_orphans_of(self, path: Path) -> None:
        with contextlib.suppress(FileNotFoundError):  # another process was quicker
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            try:
                if try_lock(descriptor):  # and from here on nobody else ends the same runs
                    self._end_all(path, descriptor)
            finally:
                os.close(descriptor)

    def _end_all(self, path: Path, descriptor: int) -> None:
        owner = Identity(**json.loads(os.pread(descriptor, 10_000, 0)))
        if not owner.is_gone():
            return
        for note in self._folder.glob(f"{path.stem}.*.run"):
            event = _last(note)
            if event and event.get("eventType") not in _ENDS:
                event = _aborted(event, owner)
                _write_line(note, json.dumps(event).encode())  # whoever comes after us sends the very same
            try:
                if event:
                    self._append(json.dumps(event).encode())
            except SpoolError as problem:
                warn_once(f"lineage: a run of a process that is gone is ended later: {describe(problem)}")
                return
            note.unlink(missing_ok=True)
        path.unlink(missing_ok=True)


def _write_line(path: Path, record: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        if os.write(descriptor, record + b"\n") != len(record) + 1:
            os.ftruncate(descriptor, size)
            raise OSError(errno.ENOSPC, "the note was written in part")
    finally:
        os.close(descriptor)


def _last(note: Path) -> dict[str, Any]:
    """The last event of a note that is whole; empty if there is none."""
    with contextlib.suppress(FileNotFoundError):
        for line in reversed(note.read_bytes().splitlines()):
            with contextlib.suppress(ValueError):
                event = json.loads(line)
                if isinstance(event, dict):
                    return event
    return {}


def _aborted(event: dict[str, Any], owner: Identity) -> dict[str, Any]:
    """The end of a run whose process did not tell it."""
    known, now = str(event.get("eventTime")), event_time()
    reason = (
        f"process {owner.pid} on {owner.host} is gone and did not end the run: killed, or left by os._exit. "
        f"Its last event is of {known}; this was noticed at {now}."
    )
    message = {"message": reason, "programmingLanguage": "PYTHON"}
    run = dict(event["run"])
    run["facets"] = {**(run.get("facets") or {}), "errorMessage": complete_facet("errorMessage", message, "Run")}
    return {**event, "eventType": "ABORT", "eventTime": max(known, now), "run": run}
