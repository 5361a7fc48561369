"""Events through the JVM: the connector's own path, against the same events given to `append` one at a time.

    python -m benchmarks.daemon [--events 100000] [--few 10000]

A platform that only delivers (Deliver.java) hands events to the bridge of a `lineagelog daemon`; each call returns
when its event is stored. One thread is Egeria's usual dispatch. The ways take turns of a few hundred events on one
PostgreSQL, so that what else the machine does meets all of them alike.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import batched
from pathlib import Path
from typing import TYPE_CHECKING, Self

from benchmarks.generator import generate
from benchmarks.writers import create_store
from lineagelog.egeria.launch import own_jars
from lineagelog.intake import Door
from lineagelog.store import Database, LogStore, open_engine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

THREADS = 8
TURN = 250
"""Events of one turn."""
_JVM = '["-Xms128m", "-Xmx128m", "-XX:+AlwaysPreTouch", "-XX:TieredStopAtLevel=1"]'
"""A heap that has its size from the start, and the small compiler: what grows then is a leak."""
_COMMAND = str(Path(sys.executable).with_name("lineagelog"))


class Direct:
    """Our door with one event at a time, in this process."""

    name = "append, batch 1"

    def __init__(self, url: str, bodies: Sequence[bytes], schema: str = "bench direct") -> None:
        create_store(url, schema)
        self._engine = open_engine(url, pool_size=1)
        self._door = Door(LogStore(Database(self._engine, schema)))
        self._turns = batched(bodies, TURN)

    def turn(self) -> tuple[int, float]:
        """The next events: how many, and in how many seconds."""
        bodies = next(self._turns)
        begin = time.perf_counter()
        for body in bodies:
            self._door.take([body], source="benchmark")
        return len(bodies), time.perf_counter() - begin

    def close(self) -> None:
        """Give the connection back."""
        self._engine.dispose()


class Daemon:
    """The same through a daemon, from so many threads; a number instead of a file: so many small events."""

    def __init__(self, url: str, folder: Path, jar: Path, events: Path | int, *, threads: int) -> None:
        self.name = f"daemon, {threads} thread{'s' if threads > 1 else ''}"
        self.schema = f"bench {threads}"
        create_store(url, self.schema)
        argument = json.dumps({"name": "benchmark", "address": url, "properties": {"schema": self.schema}})
        words = [argument, str(threads), str(events), "asked"]
        variables = {"LINEAGELOG_DAEMON__SPOOL_DIR": str(folder / "spool"), "LINEAGELOG_DAEMON__JVM_OPTIONS": _JVM}
        self._errors = (folder / f"errors-{threads}").open("w+")
        self._process = subprocess.Popen(
            [_COMMAND, "daemon", "--platform", str(jar), "--log-level", "warning", "--", *words],
            env=os.environ | variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=folder,
        )
        self._read("started ")

    def turn(self, events: int = TURN) -> tuple[int, float]:
        """The next events: how many, and in how many seconds."""
        assert self._process.stdin is not None
        print(events, file=self._process.stdin, flush=True)
        done, seconds = self._read("delivered ").split()
        return int(done), float(seconds)

    def resident(self) -> float:
        """MiB of memory."""
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def close(self) -> None:
        """End it. Raises if it did not end well."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        if self._process.wait(60):
            raise RuntimeError(f"the daemon ended with {self._process.returncode}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                stream.close()

    def _read(self, start: str) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(start):
                return line.removeprefix(start)
        self._errors.seek(0)
        raise RuntimeError(f"the daemon ended: {self._errors.read()[-2000:]}")


def compile_deliverer(folder: Path) -> Path:
    """The jar of Deliver.java."""
    return compile_platform(Path(__file__).with_name("Deliver.java"), folder)


def compile_platform(source: Path, folder: Path) -> Path:
    """The jar of one source, whose main class has its name."""
    core, _ = own_jars()
    subprocess.run(["javac", "-cp", str(core), "-d", str(folder), str(source)], check=True, timeout=120)
    names = sorted(path.name for path in folder.glob("*.class"))
    jar = folder / f"{source.stem.lower()}.jar"
    subprocess.run(["jar", "cfe", str(jar), source.stem, *names], cwd=folder, check=True, timeout=120)
    return jar


def write_events(folder: Path, bodies: Iterable[bytes]) -> Path:
    """The events as a file, one a line."""
    path = folder / "events.ndjson"
    with path.open("wb") as file:
        file.writelines(body + b"\n" for body in bodies)
    return path


def rates(url: str, folder: Path, jar: Path, bodies: Sequence[bytes], threads: Sequence[int]) -> dict[str, float]:
    """Events per second of each way, in turns; the first turn, in which everything warms up, does not count."""
    events = write_events(folder, bodies)
    with contextlib.ExitStack() as stack:
        direct = stack.enter_context(contextlib.closing(Direct(url, bodies)))
        daemons = [stack.enter_context(Daemon(url, folder, jar, events, threads=each)) for each in threads]
        ways = [direct, *daemons]
        counts, seconds = dict.fromkeys(ways, 0), dict.fromkeys(ways, 0.0)
        for number in range(len(bodies) // TURN):
            for way in ways if number % 2 else reversed(ways):
                done, took = way.turn()
                if number:
                    counts[way] += done
                    seconds[way] += took
        for each in daemons:
            each.close()
    return {way.name: counts[way] / seconds[way] for way in ways}


type Points = list[tuple[int, float]]
"""Events so far and resident MiB."""


def memory(url: str, folder: Path, jar: Path, events: Path | int, count: int) -> tuple[Points, float]:
    """The memory after every hundredth of one long run of one thread, and its events per second."""
    points: Points = []
    total, seconds = 0, 0.0
    with Daemon(url, folder, jar, events, threads=1) as daemon:
        while total < count:
            done, took = daemon.turn(max(1, count // 100))
            total, seconds = total + done, seconds + took
            points.append((total, daemon.resident()))
        daemon.close()
    return points, total / seconds


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    """A folder for the time of a measurement."""
    folder = Path(tempfile.mkdtemp(prefix="lineagelog-bench-daemon-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def report(url: str, events: int, few: int) -> str:
    """The rates of a few events, then one long run for the memory."""
    with workplace() as folder:
        jar = compile_deliverer(folder)
        found = rates(url, folder, jar, list(generate(few)), (1, THREADS))
        direct = found[Direct.name]
        lines = ["| | events/s | ÷ append |", "|---|--:|--:|"]
        lines += [f"| {name} | {rate:,.0f} | {rate / direct:.2f} |" for name, rate in found.items()]
        points, rate = memory(url, folder, jar, write_events(folder, generate(events)), events)
    lines += [f"\n{events:,} events, one thread, {rate:,.0f}/s; resident memory:\n", "| events | MiB |", "|--:|--:|"]
    lines += [f"| {done:,} | {mib:.0f} |" for done, mib in [points[0], *points[9::10]]]
    return "\n".join(lines)


def main() -> None:
    """Run and print."""
    from benchmarks.__main__ import database

    parser = argparse.ArgumentParser(prog="python -m benchmarks.daemon", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--few", type=int, default=10_000)
    parser.add_argument("--database", help="URL of a database to use instead of a fresh embedded one")
    options = parser.parse_args()
    with database(options.database) as (url, _):
        print(report(url, options.events, options.few))


if __name__ == "__main__":
    main()
