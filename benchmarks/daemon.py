"""Events through the JVM: the connector's own path, against the same events given to `append` one at a time.

    python -m benchmarks.daemon [--events 100000] [--few 10000] [--rounds 3]

A platform that only delivers (Deliver.java) hands events to the bridge of a `lineagelog daemon`; each call returns
when its event is stored. One thread is Egeria's usual dispatch. All figures are of one PostgreSQL; compare ratios.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.generator import generate
from benchmarks.writers import create_store
from lineagelog.egeria.launch import own_jars
from lineagelog.intake import Door
from lineagelog.store import LogStore, open_engine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

SCHEMA = "bench"
THREADS = 8
_JVM = '["-Xms128m", "-Xmx128m", "-XX:+AlwaysPreTouch"]'
"""A heap that has its size from the start: what grows then is a leak."""
_COMMAND = str(Path(sys.executable).with_name("lineagelog"))
_DELIVERED = re.compile(r"^delivered (\d+) ([\d.]+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Run:
    """What one daemon did."""

    events: int
    seconds: float
    memory: list[tuple[int, float]]
    """(events delivered so far, resident MiB), about one per second from the first event on."""

    @property
    def rate(self) -> float:
        """Events per second."""
        return self.events / self.seconds

    def growth(self, after: float) -> float:
        """MiB that the process grew from this share of the events to the end."""
        start = next(mib for done, mib in self.memory if done >= self.events * after)
        return self.memory[-1][1] - start


def compile_deliverer(folder: Path) -> Path:
    """The jar of Deliver.java."""
    core, _ = own_jars()
    source = Path(__file__).with_name("Deliver.java")
    subprocess.run(["javac", "-cp", str(core), "-d", str(folder), str(source)], check=True, timeout=120)
    names = sorted(path.name for path in folder.glob("*.class"))
    jar = folder / "deliver.jar"
    subprocess.run(["jar", "cfe", str(jar), "Deliver", *names], cwd=folder, check=True, timeout=120)
    return jar


def write_events(folder: Path, bodies: Iterable[bytes]) -> Path:
    """The events as a file, one a line."""
    path = folder / "events.ndjson"
    with path.open("wb") as file:
        file.writelines(body + b"\n" for body in bodies)
    return path


def append_singly(url: str, bodies: Sequence[bytes]) -> float:
    """Events per second of our door with one event at a time, in this process."""
    create_store(url, SCHEMA)
    engine = open_engine(url, pool_size=1)
    door = Door(LogStore(engine, SCHEMA))
    begin = time.perf_counter()
    for body in bodies:
        door.take([body], source="benchmark")
    seconds = time.perf_counter() - begin
    engine.dispose()
    return len(bodies) / seconds


def deliver(url: str, folder: Path, jar: Path, events: Path, *, threads: int) -> Run:
    """The same through a daemon, from so many threads."""
    create_store(url, SCHEMA)
    argument = json.dumps({"name": "benchmark", "address": url, "properties": {"schema": SCHEMA}})
    words = [_COMMAND, "daemon", "--platform", str(jar), "--log-level", "warning", "--", argument, str(threads)]
    variables = {"LINEAGELOG_DAEMON__SPOOL_DIR": str(folder / "spool"), "LINEAGELOG_DAEMON__JVM_OPTIONS": _JVM}
    progress = folder / "progress"
    progress.unlink(missing_ok=True)
    memory: list[tuple[int, float]] = []
    with (folder / "out").open("w+") as out:
        environment = os.environ | variables
        process = subprocess.Popen([*words, str(events)], env=environment, stdout=out, stderr=out, cwd=folder)
        while process.poll() is None:
            with contextlib.suppress(OSError, ValueError, IndexError):  # not begun, or just ended
                done = int(progress.read_text())
                memory.append((done, _resident(process.pid)))
            time.sleep(0.25 if len(memory) < 40 else 1)
        out.seek(0)
        said = out.read()
    found = _DELIVERED.search(said)
    if process.returncode or found is None:
        raise RuntimeError(f"the daemon ended with {process.returncode}: {said[-2000:]}")
    return Run(int(found[1]), float(found[2]), memory)


def _resident(pid: int) -> float:
    """MiB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    """A folder for the time of a measurement."""
    folder = Path(tempfile.mkdtemp(prefix="lineagelog-bench-daemon-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def report(url: str, events: int, few: int, rounds: int) -> str:
    """Rounds of a few events for the ratios, then one long run for the memory."""
    lines = [
        "| round | append, batch 1 | daemon, 1 thread | ÷ append | daemon, 8 threads | ÷ append |",
        "|--:" * 6 + "|",
    ]
    ratios = []
    with workplace() as folder:
        jar = compile_deliverer(folder)
        bodies = list(generate(few))
        file = write_events(folder, bodies)
        for number in range(1, rounds + 1):
            direct = append_singly(url, bodies)
            one, many = (deliver(url, folder, jar, file, threads=threads).rate for threads in (1, THREADS))
            ratios.append(one / direct)
            cells = (f"{direct:,.0f}", f"{one:,.0f}", f"{one / direct:.2f}", f"{many:,.0f}", f"{many / direct:.2f}")
            lines.append(f"| {number} | {' | '.join(cells)} |")
        lines.append(f"\nMedian of the ratios: {statistics.median(ratios):.2f}\n")
        file = write_events(folder, generate(events))
        run = deliver(url, folder, jar, file, threads=1)
    lines.append(f"{run.events:,} events in {run.seconds:.0f} s ({run.rate:,.0f}/s), resident memory:\n")
    lines += ["| events | MiB |", "|--:|--:|"]
    for tenth in range(11):
        done, mib = next((each for each in run.memory if each[0] >= run.events * tenth / 10), run.memory[-1])
        lines.append(f"| {done:,} | {mib:.0f} |")
    return "\n".join(lines)


def main() -> None:
    """Run and print."""
    from benchmarks.__main__ import database

    parser = argparse.ArgumentParser(prog="python -m benchmarks.daemon", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--few", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--database", help="URL of a database to use instead of a fresh embedded one")
    options = parser.parse_args()
    with database(options.database) as (url, _):
        print(report(url, options.events, options.few, options.rounds))


if __name__ == "__main__":
    main()
