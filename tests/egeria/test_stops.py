"""However the process ends: what was acknowledged to Java is stored, or in the spool and stored by the next start."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from benchmarks.daemon import compile_deliverer, compile_platform

from lineagelog.event.model import Event
from lineagelog.event.parse import parse
from lineagelog.spool import Spool
from tests.support import PATIENCE, connect, event, run_process, wait_until

from .standin import connector, daemon, deliver, run

if TYPE_CHECKING:
    from lineagelog.postgres.embedded import EmbeddedPostgres

MANY = 10_000_000
"""More events than a test waits for."""


@pytest.fixture(scope="module")
def deliverer(platforms: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The platform of Deliver.java."""
    return compile_deliverer(tmp_path_factory.mktemp("deliver"))


def acknowledged(folder: Path) -> set[str]:
    file = folder / "acknowledged"
    return set(file.read_text().split("\n")[:-1]) if file.exists() else set()


def stored(url: str) -> set[str]:
    with connect(url) as connection:
        there = connection.execute("SELECT to_regclass('openlineage.ol_event') IS NOT NULL").fetchone()
        if there != (True,):
            return set()
        return {row[0] for row in connection.execute("SELECT run_id FROM openlineage.ol_event").fetchall()}


def spooled(folder: Path) -> set[str]:
    found: set[str] = set()
    for each in (folder / "spool").glob("*"):
        with Spool(each).reader() as reader:
            for record in reader.peek(1_000_000, 1 << 30):
                events = map(parse, msgspec.msgpack.decode(record, type=list[bytes]))
                found |= {each.run_id for each in events if isinstance(each, Event)}
    return found


def begun(folder: Path, count: int = 1) -> None:
    wait_until(lambda: len(acknowledged(folder)) >= count)


@pytest.mark.long
@pytest.mark.parametrize("count", [4, pytest.param(30, marks=pytest.mark.soak)])
def test_sigterm_at_random_moments(deliverer: Path, tmp_path: Path, store_url: str, count: int) -> None:
    """Before, during and after the start of the JVM, and under load: it ends, and nothing acknowledged is lost."""
    moments = random.Random(4)
    for number in range(count):
        with deliver(tmp_path, deliverer, store_url, MANY, threads=1 + 7 * (number % 2)) as running:
            if number % 4 == 0:
                begun(tmp_path, len(acknowledged(tmp_path)) + 50)
            time.sleep(moments.uniform(0, 0.5 if number % 4 == 0 else 4))
            code, _ = running.end()
        assert code in (0, 143, -15), running.said()
        assert acknowledged(tmp_path) <= stored(store_url) | spooled(tmp_path)
    assert len(acknowledged(tmp_path)) >= 50 * (count // 4)


@pytest.mark.long
def test_sigterm_while_the_database_is_away(deliverer: Path, tmp_path: Path, own_postgres: EmbeddedPostgres) -> None:
    """While an event waits for it: the event is spooled at once; the next start stores what is there."""
    url = own_postgres.url
    with deliver(tmp_path, deliverer, url, MANY, threads=4, databaseWaitSeconds="3600") as running:
        begun(tmp_path, 20)
        own_postgres.release()
        before = len(acknowledged(tmp_path))
        code, _ = running.end()
    own_postgres.start()
    there, waiting = stored(url), spooled(tmp_path)
    assert code == 0, running.said()
    assert len(acknowledged(tmp_path)) > before
    assert (acknowledged(tmp_path) <= there | waiting, bool(waiting)) == (True, True)
    with deliver(tmp_path, deliverer, url, 0) as running:
        assert running.process.wait(PATIENCE) == 0, running.said()
    assert acknowledged(tmp_path) <= stored(url)
    assert spooled(tmp_path) == set()


@pytest.mark.long
def test_a_killed_process_loses_nothing(deliverer: Path, tmp_path: Path, own_postgres: EmbeddedPostgres) -> None:
    """kill -9 while events are spooled: the second start drains them, and says how many there were."""
    url = own_postgres.url
    with deliver(tmp_path, deliverer, url, MANY, threads=4, databaseWaitSeconds="0.2") as running:
        begun(tmp_path, 20)
        own_postgres.release()
        before = len(acknowledged(tmp_path))
        begun(tmp_path, before + 200)
        running.process.send_signal(signal.SIGKILL)
        running.process.wait(PATIENCE)
    own_postgres.start()
    left = spooled(tmp_path)
    with daemon(tmp_path, [connector(url)]) as running:
        assert left
        wait_until(lambda: not spooled_bytes(tmp_path))
        (told,) = [line for line in running.logs("drain") if line["event"].startswith("events of an earlier run")]
        assert told["events"] >= len(left)
        (waiting,) = [line for line in running.logs("spool") if line["event"] == "events wait in a spool"]
        assert (waiting["destination"].endswith("/lineagelog, schema openlineage"), waiting["bytes"] > 0) == (
            True,
            True,
        )
        running.publish(event("and on"))
        assert running.end()[0] == 0
    assert acknowledged(tmp_path) | {"and on"} <= stored(url)


def spooled_bytes(folder: Path) -> int:
    return sum(Spool(each).stats().waiting_bytes for each in (folder / "spool").glob("*"))


@pytest.mark.long
def test_the_platforms_own_exit_is_an_end(deliverer: Path, tmp_path: Path, store_url: str) -> None:
    """System.exit inside the platform: ours is closed first, the exit code is the platform's."""
    with deliver(tmp_path, deliverer, store_url, 50, "7") as running:
        assert running.process.wait(PATIENCE) == 7, running.said()
    assert len(stored(store_url)) == 50
    assert [line["event"] for line in running.logs("stop")] == ["stopping", "stopped"]
    assert running.logs("stop")[0]["cause"] == "the platform exits"


@pytest.mark.long
def test_a_platform_that_ends_is_an_end(deliverer: Path, tmp_path: Path, store_url: str) -> None:
    """main returned and no thread of the platform is left: exit code 0."""
    with deliver(tmp_path, deliverer, store_url, 50, threads=4) as running:
        assert running.process.wait(PATIENCE) == 0, running.said()
    assert len(stored(store_url)) == 50
    assert running.logs("stop")[0]["cause"] == "the platform ended"


@pytest.mark.long
def test_ctrl_c_is_a_stop(deliverer: Path, tmp_path: Path, store_url: str) -> None:
    """As SIGTERM is one; Java's signal for a thread dump is none."""
    with deliver(tmp_path, deliverer, store_url, MANY) as running:
        begun(tmp_path, 10)
        running.process.send_signal(signal.SIGQUIT)
        wait_until(lambda: "Thread.print" in running.said())
        assert running.end(signal.SIGINT)[0] == 0
    assert acknowledged(tmp_path) <= stored(store_url)


@pytest.mark.long
def test_a_platform_that_does_not_stop(deliverer: Path, tmp_path: Path, store_url: str) -> None:
    """Its shutdown hangs: the process ends in time all the same, and at once for who asks twice."""
    with deliver(tmp_path, deliverer, store_url, MANY, "hang") as running:
        begun(tmp_path, 10)
        code, seconds = running.end()
    assert (code, seconds > 5) == (0, True), running.said()
    assert running.logs("stop")[-1]["event"] == "the platform does not stop: the process ends"
    assert acknowledged(tmp_path) <= stored(store_url) | spooled(tmp_path)
    again = tmp_path / "again"
    again.mkdir()
    with deliver(again, deliverer, store_url, MANY, "hang") as running:
        begun(again)
        running.process.send_signal(signal.SIGINT)
        wait_until(lambda: running.logs("stop"))
        code, _ = running.end(signal.SIGINT)
    assert (code, [line["event"] for line in running.logs("stop")]) == (130, ["stopping"]), running.said()
    assert acknowledged(again) <= stored(store_url) | spooled(again)


@pytest.mark.long
def test_memory_that_the_platform_lacks_for_a_while_ends_nobody(
    platforms: Path, tmp_path: Path, store_url: str
) -> None:
    """Its heap is full again and again while it delivers: neither we nor our pumps end, and what is acknowledged is
    stored."""
    jar = compile_platform(Path(__file__).with_name("Hungry.java"), tmp_path)
    argument = json.dumps({"name": "hungry", "address": store_url})
    variables = {"LINEAGELOG_DAEMON__JVM_OPTIONS": '["-Xmx32m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]'}
    with run(tmp_path, "--platform", str(jar), "--", argument, "4", variables=variables) as running:
        running.process.wait(
            PATIENCE
        )  # JPype's own thread may be gone for want of memory: then Java's exit is not its own
        assert running.logs("stop")[0].get("cause") == "the platform exits", running.said()
    delivered = int(running.said().partition("delivered ")[2].split()[0])
    assert stored(store_url) >= {f"run-{number}" for number in range(delivered)}
    assert "java.lang.OutOfMemoryError" in {line.get("error") for line in running.logs()}


@pytest.mark.long
def test_the_embedded_database_stops_with_the_daemon(platforms: Path, data_dir: Path, tmp_path: Path) -> None:
    """No endpoint and no --database: the daemon's own PostgreSQL is started for the connector, and ends before the
    process does."""
    variables = {"LINEAGELOG_DATA_DIR": str(data_dir)}
    with daemon(tmp_path, [connector(None)], variables=variables) as running:
        running.publish(event("r"))
        (started,) = running.audit("CONNECTOR-0001")
        assert started["parameters"][1] == "the embedded database, schema openlineage"
        assert running.end()[0] == 0
    assert not (data_dir / "cluster" / "postmaster.pid").exists()
    assert run_process("list", "runs", "--json", **variables).rows[0]["run_id"] == "r"


STUCK = """
import ctypes, os, threading
from pathlib import Path
from lineagelog.egeria import Host
from lineagelog.egeria.java import Java
from lineagelog.egeria.launch import Launch
host = Host(Java(Path("/"), Path("/"), 17), Launch((), (), "x", ()), stop_seconds=1)
host._take_signals()
threading.Timer(0.2, os.kill, (os.getpid(), 15)).start()
while True:
    ctypes.CDLL(None).sleep(60)
"""


@pytest.mark.long
def test_a_main_thread_that_is_stuck_does_not_hold_up_the_end() -> None:
    """Python handles signals on its main thread only; should that hang in Java, the process ends all the same."""
    done = subprocess.run([sys.executable, "-c", STUCK], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2
    assert "the stop hangs: the process ends" in done.stdout + done.stderr
