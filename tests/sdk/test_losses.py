"""Nothing is lost without a word: full spools and disks, workers, ends of processes, pages in place of answers."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from lineagelog import sdk
from lineagelog.sdk import lineage_run
from lineagelog.spool import Spool
from tests.support import wait_until

from .programs import BATCH, FOR_EVER, configured, run_program, spooled

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Backend


def with_batch(backend: Backend) -> Backend:
    backend.status = lambda path, body: (204, None) if path.endswith("/batch") else (201, None)
    return backend


def sent_of(spool: Path) -> bool:
    return Spool(spool).stats().waiting_bytes == 0


# --- full ------------------------------------------------------------------------------------------------------------


def test_a_spool_that_was_full_drains(backend: Backend, dead_url: str, tmp_path: Path) -> None:
    """A process whose very first event meets a full spool drains it, and has room again."""
    spool = tmp_path / "spool"
    spooled(dead_url, spool, max_bytes=5000)
    for _ in range(20):
        with lineage_run("outage"):
            pass
    assert not sdk.flush(0)
    sdk.delivery.emitter.emitter().client.transport.close(0)  # type: ignore[union-attr]
    spooled(with_batch(backend).url, spool, max_bytes=5000)
    with lineage_run("refused"):
        pass
    wait_until(lambda: sent_of(spool))
    with lineage_run("after"):
        pass
    assert sdk.flush(FOR_EVER)
    assert backend.names()[-2:] == [("after", "START"), ("after", "COMPLETE")]


def test_flush_drains_what_others_left(backend: Backend, dead_url: str, tmp_path: Path) -> None:
    """A process that emits nothing, but asks, sends what lies in the spool."""
    spool = tmp_path / "spool"
    spooled(dead_url, spool)
    with lineage_run("earlier"):
        pass
    sdk.delivery.emitter.emitter().client.transport.close(0)  # type: ignore[union-attr]
    spooled(with_batch(backend).url, spool)
    assert sdk.flush(FOR_EVER)
    assert backend.names() == [("earlier", "START"), ("earlier", "COMPLETE")]


@pytest.mark.parametrize("in_place", [True, False], ids=["overwritten", "remembered"])
def test_a_full_disk_sends_no_event_twice(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_place: bool
) -> None:
    """The cursor cannot be written anew: it is overwritten, and where that fails too, this process remembers."""
    spool = tmp_path / "spool"
    for number in range(9):
        Spool(spool).append(b'{"job": {"name": "%d"}, "eventType": "OTHER"}' % number)
    if in_place:
        (spool / "cursor").write_bytes(b"\0" * 20)
    real = os.open

    def full(path: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
        name = os.fspath(path)
        if str(name).endswith("cursor.new") or (not in_place and str(name).endswith("cursor") and flags & os.O_WRONLY):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(path, flags, mode, **more)

    monkeypatch.setattr(os, "open", full)
    with_batch(backend)
    spooled(backend.url, spool)
    for number in range(3):
        with lineage_run(f"job {number}"):
            pass
        assert sdk.flush(FOR_EVER)
    assert [name for name, _ in backend.names()] == [str(n) for n in range(9)] + [
        f"job {n}" for n in range(3) for _ in range(2)
    ]
    if in_place:  # a later process goes on there
        with Spool(spool).reader() as reader:
            assert reader.peek() == []


# --- answers that are none -------------------------------------------------------------------------------------------

_PAGE = {"_headers": {"Content-Type": "text/html; charset=utf-8"}}


@pytest.mark.parametrize("path", ["/batch", "/lineage"])
@pytest.mark.parametrize(
    "status", [(200, _PAGE), (302, {"_headers": {"Location": "/login"}})], ids=["page", "redirect"]
)
def test_a_sign_in_page_is_no_yes(
    backend: Backend, tmp_path: Path, caplog: pytest.LogCaptureFixture, path: str, status: Any
) -> None:
    """A page for people, or the way to it, has taken nothing: the cursor stays, and the log says why."""
    away = True
    backend.status = lambda p, body: (
        (status if p.endswith(path) else (404, None)) if away else (404, None) if p.endswith("/batch") else (201, None)
    )
    spool = tmp_path / "spool"
    spooled(backend.url, spool)
    with lineage_run("job"):
        pass
    wait_until(lambda: [code for _, code in backend.requests].count(status[0]) >= 2)
    assert not sent_of(spool)
    assert re.search(r"events are kept and sent later: .*answers (200 with a page|302)", caplog.text)
    away = False
    backend.events.clear()
    assert sdk.flush(FOR_EVER)
    assert backend.names() == [("job", "START"), ("job", "COMPLETE")]


def test_other_transports_behind_the_spool_see_pages_too(backend: Backend, tmp_path: Path) -> None:
    """An http transport of the client's own takes a page for a yes; the spool does not."""
    away = True
    backend.status = lambda path, body: (200, _PAGE) if away else (201, None)
    spool = tmp_path / "spool"
    inner = {"type": "openlineage.client.transport.http.HttpTransport", "url": backend.url}
    spooled("", spool, transport=inner)
    with lineage_run("job"):
        pass
    wait_until(lambda: len(backend.requests) >= 2)
    assert not sent_of(spool)
    away = False
    backend.events.clear()
    assert sdk.flush(FOR_EVER)
    assert backend.names() == [("job", "START"), ("job", "COMPLETE")]


def test_a_page_costs_a_plain_http_transport_a_warning(backend: Backend, caplog: pytest.LogCaptureFixture) -> None:
    """Where nothing keeps the events they are lost, and that is said."""
    backend.status = lambda path, body: (200, _PAGE)
    configured({"type": "http", "url": backend.url})
    with lineage_run("job"):
        pass
    assert sdk.flush(FOR_EVER)
    assert "an event is lost" in caplog.text
    assert "answers 200 with a page" in caplog.text


# --- workers ---------------------------------------------------------------------------------------------------------

_WORKERS = """
import concurrent.futures, multiprocessing, os, sys
from lineagelog.sdk import emit_lineage, lineage_run

def work(number):
    with lineage_run(f"worker {number}"):
        pass

def by_hand(number):
    child = os.fork()
    if child == 0:
        work(number)
        os._exit(0)
    os.waitpid(child, 0)

def emits(number):
    child = os.fork()
    if child == 0:
        emit_lineage("COMPLETE", f"worker {number}")
        os._exit(0)
    os.waitpid(child, 0)

def main(how):
    if how == "Process":
        context = multiprocessing.get_context("fork")
        workers = [context.Process(target=work, args=(number,)) for number in range(3)]
        for worker in workers: worker.start()
        for worker in workers: worker.join()
    elif how == "Pool":  # whose workers are ended by SIGTERM
        with multiprocessing.get_context("fork").Pool(2) as pool:
            pool.map(work, range(3))
    elif how in ("spawn", "forkserver"):
        with multiprocessing.get_context(how).Pool(2) as pool:
            pool.map(work, range(3))
    elif how == "executor":
        with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool:
            list(pool.map(work, range(3)))
    else:
        for number in range(3):
            (by_hand if how == "fork" else emits)(number)

if __name__ == "__main__":
    if sys.argv[2:] == ["alone"]:
        main(sys.argv[1])
    else:
        with lineage_run("outer"):
            main(sys.argv[1])
"""


@pytest.mark.parametrize("kind", ["http", "batch"])
@pytest.mark.parametrize(
    "how",
    [
        "fork",
        *(
            pytest.param(each, marks=pytest.mark.long)
            for each in ("Process", "Pool", "executor", "spawn", "forkserver")
        ),
    ],
)
def test_workers_tell_their_runs(backend: Backend, tmp_path: Path, kind: str, how: str) -> None:
    """Workers that skip `atexit`, or are killed with their pool, lose no run; `outer` is their parent, ended once."""
    with_batch(backend)
    backend.delay = 0.05
    configured({"type": BATCH if kind == "batch" else "http", "url": backend.url})
    (tmp_path / "program.py").write_text(_WORKERS)  # a file, which spawned workers can import
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "program.py", how],
        check=False,
        capture_output=True,
        text=True,
        timeout=FOR_EVER,
    )
    assert (done.returncode, done.stderr) == (0, "")
    expected = [(f"worker {number}", event) for number in range(3) for event in ("START", "COMPLETE")]
    assert sorted(backend.names()) == sorted([("outer", "START"), ("outer", "COMPLETE"), *expected])
    if how not in ("spawn", "forkserver"):
        outer = next(event["run"]["runId"] for event in backend.events if event["job"]["name"] == "outer")
        for event in backend.events:
            if event["job"]["name"] != "outer":
                assert event["run"]["facets"]["parent"]["run"]["runId"] == outer


def test_a_single_event_of_a_fork_arrives(backend: Backend) -> None:
    """`emit_lineage` in a child that leaves by `os._exit`."""
    configured({"type": "http", "url": backend.url})
    assert run_program(_WORKERS, "emits", "alone").returncode == 0
    assert backend.names() == [(f"worker {number}", "COMPLETE") for number in range(3)]


@pytest.mark.long
def test_parent_and_child_do_not_share_a_connection(backend: Backend) -> None:
    """After a fork both post on keep-alive connections of their own; each answer reaches who asked."""
    configured({"type": "http", "url": backend.url})
    code = """
import os
from lineagelog.sdk import flush, lineage_run
from lineagelog.sdk.delivery import emitter
with lineage_run("before"): pass
flush(60)
before = emitter.emitter().client.transport._session
child = os.fork()
with lineage_run("child" if child == 0 else "parent"): pass
flush(60)
same = emitter.emitter().client.transport._session is before
if child == 0:
    os._exit(10 if same else 0)
assert same and os.waitpid(child, 0)[1] == 0
"""
    done = run_program(code)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(backend.events) == 6


@pytest.mark.long
def test_a_fork_takes_no_lock_that_is_held(backend: Backend) -> None:
    """Another thread of the parent's is in the middle of a method of the run: the child may call it all the same."""
    configured({"type": "http", "url": backend.url})
    code = """
import os, signal
from lineagelog.sdk import lineage_run
import threading
with lineage_run("job") as run:
    held, go = threading.Event(), threading.Event()
    def hold():
        with run._lock:
            held.set()
            go.wait()
    threading.Thread(target=hold).start()
    held.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        run.add_output("d/t")
        os._exit(0)
    go.set()
    assert os.waitpid(child, 0)[1] == 0
"""
    done = run_program(code)
    assert (done.returncode, done.stderr) == (0, "")


# --- the end of a process --------------------------------------------------------------------------------------------

_FIFTY = """
from lineagelog.sdk import lineage_run
for number in range(25):
    with lineage_run(f"job {number}"): pass
"""


@pytest.mark.long
@pytest.mark.parametrize("kind", ["http", "batch"])
def test_a_slow_backend_gets_all_at_the_end(backend: Backend, kind: str) -> None:
    """As long as the backend takes events the process waits, however many there are."""
    backend.status = lambda path, body: (404, None) if path.endswith("/batch") else (201, None)
    backend.delay = 0.1
    more = {"exit_timeout": 0.5} if kind == "batch" else {}
    configured({"type": BATCH if kind == "batch" else "http", "url": backend.url, **more})
    done = run_program(_FIFTY)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(backend.events) == 50


@pytest.mark.long
@pytest.mark.parametrize("kind", ["http", "batch"])
def test_what_is_lost_is_said(dead_url: str, kind: str) -> None:
    """A backend that is away gets its time, then the process ends and says how many events that cost."""
    transport = {"type": BATCH, "exit_timeout": 0.2} if kind == "batch" else {"type": "http"}
    configured({**transport, "url": dead_url}, lineagelog={"exit_timeout": 0.2})
    done = run_program(_FIFTY)
    assert done.returncode == 0
    assert "50 events not delivered before the end of the process, and lost" in done.stderr


def test_more_than_fits_into_memory_waits_for_room(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job faster than its live backend is held back, as by the client's own transport; nothing is dropped."""
    monkeypatch.setattr(sdk.delivery.emitter, "_MAX_WAITING", 3)
    backend.delay = 0.02
    configured({"type": "http", "url": backend.url})
    for number in range(10):
        with lineage_run(f"job {number}"):
            pass
    assert sdk.flush(FOR_EVER)
    assert len(backend.events) == 20


@pytest.mark.long
@pytest.mark.parametrize("kind", ["http", "batch"])
def test_a_run_of_an_exit_function_is_told(backend: Backend, kind: str) -> None:
    """What the job does in its own `atexit` functions comes after ours."""
    with_batch(backend)
    configured({"type": BATCH if kind == "batch" else "http", "url": backend.url})
    code = """
import atexit
@atexit.register
def last():
    with lineage_run("last"): pass
from lineagelog.sdk import lineage_run
with lineage_run("job"): pass
"""
    done = run_program(code)
    assert done.returncode == 0
    assert not re.search("lost|Traceback", done.stderr)  # that no thread can be begun any more may be told
    assert sorted(backend.names()) == sorted((name, kind) for name in ("job", "last") for kind in ("START", "COMPLETE"))


# --- runs whose process is gone --------------------------------------------------------------------------------------

_ENDS = """
import os, signal, subprocess, sys, threading, time
from lineagelog.sdk import emit_lineage, lineage_run
if sys.argv[1] == "emit_lineage":  # its end may come from another process
    emit_lineage("START", "job")
    os._exit(0)
with lineage_run("done"): pass
with lineage_run("job", inputs=["d/in"]) as run:
    run.add_output("d/out", rows=3)
    run.running()
    if sys.argv[1] == "SIGKILL": os.kill(os.getpid(), signal.SIGKILL)
    if sys.argv[1] == "SIGTERM": os.kill(os.getpid(), signal.SIGTERM)
    if sys.argv[1] == "os._exit": os._exit(0)
    if sys.argv[1] == "exec": os.execv(sys.executable, [sys.executable, "-c", "pass"])
    if sys.argv[1] == "thread":  # a daemon thread is stopped in the middle of its run
        inside = threading.Event()
        def work():
            with lineage_run("in a thread"):
                inside.set()
                time.sleep(3600)
        threading.Thread(target=work, daemon=True).start()
        inside.wait()
    if sys.argv[1] == "child":  # one that goes on when its parent is gone
        if os.fork():
            os._exit(0)
        os.close(1)
        os.read(0, 1)
        os._exit(0)
    if sys.argv[1] == "waits":
        print("inside", flush=True)
        sys.stdin.read(1)
    if sys.argv[1] == "closes all files":
        os.closerange(3, 1000)
        print("inside", flush=True)
        sys.stdin.read(1)
"""


def aborts(backend: Backend) -> list[tuple[str, str]]:
    return [
        (event["job"]["name"], event["run"]["facets"]["errorMessage"]["message"])
        for event in backend.events
        if event["eventType"] == "ABORT"
    ]


@pytest.mark.long
@pytest.mark.parametrize("how", ["SIGKILL", "SIGTERM", "os._exit", "exec", "thread"])
def test_the_next_process_ends_a_run_whose_process_is_gone(backend: Backend, tmp_path: Path, how: str) -> None:
    """Once, as ABORT with the reason and all that was known of the run; runs that had ended stay as they are."""
    with_batch(backend)
    spooled(backend.url, tmp_path / "spool")
    run_program(_ENDS, how)
    for number in range(2):
        with lineage_run(f"next {number}"):
            pass
        assert sdk.flush(FOR_EVER)
    found = aborts(backend)
    assert [name for name, _ in found] == ["in a thread" if how == "thread" else "job"]
    assert re.search(r"process \d+ on .+ is gone and did not end the run", found[0][1])
    ended = next(event for event in backend.events if event["eventType"] == "ABORT")
    if how != "thread":
        assert [dataset["name"] for dataset in ended["inputs"] + ended["outputs"]] == ["d/in", "d/out"]
    same_run = [event for event in backend.events if event["run"]["runId"] == ended["run"]["runId"]]
    assert ended["eventTime"] >= max(event["eventTime"] for event in same_run)
    assert {event["eventType"] for event in same_run} <= {"START", "RUNNING", "ABORT"}
    open_here = json.dumps({"pid": os.getpid()})[1:-1]
    assert all(open_here in path.read_text() for path in (tmp_path / "spool" / "runs").iterdir())


@pytest.mark.long
@pytest.mark.parametrize("how", ["waits", "closes all files"])
def test_a_run_of_a_live_process_is_left(backend: Backend, tmp_path: Path, how: str) -> None:
    """However long it takes, and though the process has closed the file that it holds a lock on, as daemons do."""
    with_batch(backend)
    spooled(backend.url, tmp_path / "spool")
    process = subprocess.Popen(
        [sys.executable, "-c", _ENDS, how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None and process.stdout is not None
    assert process.stdout.readline() == "inside\n"
    with lineage_run("meanwhile"):
        pass
    assert sdk.flush(FOR_EVER)
    assert aborts(backend) == []
    process.communicate("x", timeout=FOR_EVER)
    with lineage_run("after"):
        pass
    assert sdk.flush(FOR_EVER)
    assert aborts(backend) == []
    assert backend.names().count(("job", "COMPLETE")) == 1


def test_nothing_gets_into_a_file_of_the_job_s(dead_url: str, tmp_path: Path) -> None:
    """A job that closes all files opens its own under the same numbers: lineage writes to none of them."""
    spooled(dead_url, tmp_path / "spool")
    code = """
import os
from lineagelog.sdk import lineage_run
with lineage_run("job") as run:
    os.closerange(3, 1000)
    mine = [os.open(f"mine-{number}", os.O_RDWR | os.O_CREAT) for number in range(40)]
    run.running()
with lineage_run("next"): pass
assert all(os.fstat(number).st_size == 0 for number in mine)
"""
    done = run_program(code)
    assert done.returncode == 0, done.stderr
    assert [path.stat().st_size for path in tmp_path.glob("mine-*")] == [0] * 40
    with Spool(tmp_path / "spool").reader() as reader:
        kinds = [json.loads(record)["eventType"] for record in reader.peek()]
    assert kinds == ["START", "RUNNING", "COMPLETE", "START", "COMPLETE"]


def test_notes_of_many_runs_stay_small(backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long run with many inside: what is over does not pile up, and the long one is not forgotten."""
    monkeypatch.setattr(sdk.delivery.lives, "_COMPACT_BYTES", 20_000)
    spooled(with_batch(backend).url, tmp_path / "spool")
    with lineage_run("outer") as outer:
        for number in range(60):
            with lineage_run(f"inner {number}"):
                pass
        (note,) = (tmp_path / "spool" / "runs").glob("*.live")
        assert note.stat().st_size < 60_000
        assert outer.run_id in note.read_text()
    assert outer.run_id not in note.read_text()
    assert sdk.flush(FOR_EVER)
    assert aborts(backend) == []


@pytest.mark.long
def test_a_zombie_is_gone_and_its_child_holds_nothing(backend: Backend, tmp_path: Path) -> None:
    """A process that nobody has waited for, with a fork that lives on, is gone: its run is ended."""
    with_batch(backend)
    spooled(backend.url, tmp_path / "spool")
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", _ENDS, "child"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None and process.stdout is not None
    assert process.stdout.read() == b""  # the parent has left, the child has closed its end
    with lineage_run("next"):
        pass
    wait_until(lambda: sdk.flush(FOR_EVER) and aborts(backend))
    process.communicate(b"x", timeout=FOR_EVER)
    assert len(aborts(backend)) == 1


@pytest.mark.long
def test_a_run_that_others_may_end_is_left(backend: Backend, tmp_path: Path) -> None:
    """`emit_lineage("START")` says nothing of the process that will emit the end."""
    with_batch(backend)
    spooled(backend.url, tmp_path / "spool")
    run_program(_ENDS, "emit_lineage")
    with lineage_run("next"):
        pass
    assert sdk.flush(FOR_EVER)
    assert ("job", "START") in backend.names()
    assert aborts(backend) == []


def test_a_worker_killed_with_its_pool_is_ended_by_its_parent(backend: Backend, tmp_path: Path) -> None:
    """The courier of a living process looks too."""
    with_batch(backend)
    spooled(backend.url, tmp_path / "spool")
    process = subprocess.Popen([sys.executable, "-c", _ENDS, "waits"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    assert process.stdout.readline() == b"inside\n"
    with lineage_run("parent"):
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=FOR_EVER)
        wait_until(lambda: aborts(backend))
    assert [name for name, _ in aborts(backend)] == ["job"]


@pytest.mark.long
def test_two_that_look_at_once_end_a_run_once(backend: Backend, tmp_path: Path) -> None:
    """Several processes start after the kill; one of them ends the run."""
    with_batch(backend)
    spooled(backend.url, tmp_path / "spool")
    run_program(_ENDS, "SIGKILL")
    code = "from lineagelog.sdk import flush, lineage_run\nwith lineage_run('next'): pass\nflush(60)"
    others = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert [other.wait(FOR_EVER) for other in others] == [0, 0, 0]
    assert sdk.flush(FOR_EVER)
    assert len(aborts(backend)) == 1


def test_an_end_that_was_not_taken_is_sent_by_the_next(
    backend: Backend, dead_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process dies between its note of the end and the spool: COMPLETE comes, and no ABORT beside it."""
    with_batch(backend)
    spooled(backend.url, tmp_path / "spool")
    code = """
import os
from lineagelog.sdk import lineage_run
from lineagelog.spool import Spool
with lineage_run("job"):
    Spool.append = lambda self, record, **more: os._exit(0)
"""
    run_program(code)
    with lineage_run("next"):
        pass
    assert sdk.flush(FOR_EVER)
    assert [kind for name, kind in backend.names() if name == "job"] == ["START", "COMPLETE"]
