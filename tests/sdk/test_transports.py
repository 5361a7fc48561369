"""The spool and the batch transport, from openlineage.yml, against backends that live, lag, fail and die."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import Job, JobEvent, Run, RunEvent, RunState
from openlineage.client.transport.kafka import KafkaConfig, KafkaTransport

from lineagelog import sdk
from lineagelog.errors import SpoolBusy, SpoolError
from lineagelog.sdk import lineage_run
from lineagelog.sdk.delivery.courier import Courier, CourierPace, MemoryQueue, TryLaterError
from lineagelog.sdk.delivery.emitter import is_quick
from lineagelog.sdk.events import event_from_plain
from lineagelog.sdk.transport import BatchTransport, SpoolTransport, serialized
from lineagelog.spool import Spool
from tests.support import PATIENCE, wait_until

if TYPE_CHECKING:
    from .conftest import Backend

SPOOL = "lineagelog.sdk.transport.SpoolTransport"
BATCH = "lineagelog.sdk.transport.BatchTransport"


def use(transport: dict[str, Any], **more: Any) -> Any:
    """Write openlineage.yml and give the transport that the client makes of it."""
    Path("openlineage.yml").write_text(yaml.safe_dump({"transport": transport, **more}))
    sdk.configure()
    client = sdk.delivery.emitter.emitter().client
    assert client is not None
    return client.transport


def spool_to(url: str, tmp_path: Path, **more: Any) -> Any:
    return use({"type": SPOOL, "folder": str(tmp_path / "spool"), "transport": {"type": "http", "url": url}, **more})


def with_batch(backend: Backend) -> Backend:
    backend.status = lambda path, body: (204, None) if path.endswith("/batch") else (201, None)
    return backend


def events_of(spool: Path) -> list[tuple[str, str]]:
    found: list[Any] = []

    def is_read() -> bool:  # the courier may try again just now
        with contextlib.suppress(SpoolBusy), Spool(spool).reader() as reader:
            found.extend(json.loads(record) for record in reader.peek(1000))
            return True
        return False

    wait_until(is_read)
    return [(event["job"]["name"], event["eventType"]) for event in found]


# --- spool ----------------------------------------------------------------------------------------------------------


def test_spooled_events_arrive_in_order(backend: Backend, tmp_path: Path) -> None:
    """From a plain openlineage.yml by dotted path; the backend has no batch endpoint, which is asked once only."""
    transport = spool_to(backend.url, tmp_path)
    assert isinstance(transport, SpoolTransport)
    for number in range(5):
        with lineage_run(f"job {number}"):
            pass
    assert sdk.flush(PATIENCE)
    assert backend.names() == [(f"job {number}", kind) for number in range(5) for kind in ("START", "COMPLETE")]
    assert [path for path, status in backend.requests if status == 404] in ([], ["/api/v1/lineage/batch"])
    assert events_of(tmp_path / "spool") == []


def test_a_dead_backend_costs_the_job_nothing_and_loses_nothing(dead_url: str, tmp_path: Path) -> None:
    """50 runs against a dead backend take no time to speak of, and their 100 events wait on disk in order."""
    transport = spool_to(dead_url, tmp_path, exit_timeout=10 * PATIENCE)
    for number in range(50):
        with lineage_run(f"job {number}"):
            pass
    transport.leave()  # without waiting for it
    assert len(events_of(tmp_path / "spool")) == 100


def test_events_of_an_outage_are_sent_after_it(backend: Backend, tmp_path: Path) -> None:
    """A backend that answers 503 gets everything, once, when it is well again."""
    backend.status = lambda path, body: (503, None)
    spool_to(backend.url, tmp_path)
    for number in range(3):
        with lineage_run(f"job {number}"):
            pass
    wait_until(lambda: len(backend.requests) >= 2)
    assert backend.events == []
    with_batch(backend)
    assert sdk.flush(PATIENCE)
    assert backend.names() == [(f"job {number}", kind) for number in range(3) for kind in ("START", "COMPLETE")]


_JOB = """
import os, signal, sys
from lineagelog.sdk import lineage_run
with lineage_run(sys.argv[1]) as run:
    run.add_output("d/t", rows=1)
    if sys.argv[2] == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    run.running()
"""


def run_job(name: str, how: str = "end") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _JOB, name, how]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=PATIENCE)


@pytest.mark.long
def test_a_killed_job_has_started_and_the_next_process_tells_it(backend: Backend, tmp_path: Path) -> None:
    """`kill -9` in a run loses nothing that was emitted; the next job's process sends it first, and ends the run."""
    spool_to("http://127.0.0.1:9", tmp_path)  # the discard port: nobody
    assert run_job("killed", "kill").returncode == -signal.SIGKILL
    assert events_of(tmp_path / "spool") == [("killed", "START")]
    spool_to(backend.url, tmp_path)
    done = run_job("next")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(backend.names()) == sorted(
        [("killed", "START"), ("killed", "ABORT"), ("next", "START"), ("next", "RUNNING"), ("next", "COMPLETE")]
    )
    assert backend.names()[0] == ("killed", "START")


def test_a_process_ends_soon_though_the_backend_is_dead(dead_url: str, tmp_path: Path) -> None:
    """The end of a job does not wait for a backend that is away; one line of warning tells of it."""
    spool_to(dead_url, tmp_path, exit_timeout=10 * PATIENCE)
    run_job("warm")
    done = run_job("job")
    assert done.returncode == 0
    assert done.stderr.count("events are kept and sent later") <= 1
    assert len(events_of(tmp_path / "spool")) == 6


@pytest.mark.long
def test_two_processes_share_one_spool(backend: Backend, tmp_path: Path) -> None:
    """Jobs at the same time write to one spool; each event arrives."""
    spool_to(with_batch(backend).url, tmp_path)
    jobs = [
        subprocess.Popen([sys.executable, "-c", _JOB, f"job {number}", "end"], stderr=subprocess.PIPE)
        for number in range(3)
    ]
    for job in jobs:
        assert job.communicate()[1] == b""
    with lineage_run("last"):
        pass
    assert sdk.flush(PATIENCE)
    assert sorted(set(backend.names())) == sorted(
        [(f"job {number}", kind) for number in range(3) for kind in ("START", "RUNNING", "COMPLETE")]
        + [("last", "START"), ("last", "COMPLETE")]
    )


def test_a_full_spool_drops_and_says_so_once(dead_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """At its limit the spool refuses; the job does not notice, the log has one warning."""
    spool_to(dead_url, tmp_path, max_bytes=5000)
    for _ in range(20):
        with lineage_run("job"):
            pass
    full = [record for record in caplog.records if "is full" in record.getMessage() and record.levelname == "WARNING"]
    assert len(full) == 1
    assert 0 < len(events_of(tmp_path / "spool")) < 10


def test_a_refused_event_does_not_stop_the_others(
    backend: Backend, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A 422 for one event is logged with its job, the others go on."""
    backend.status = lambda path, body: (
        (404, None)
        if path.endswith("/batch")
        else (422, {"error": "no such thing"})
        if body["job"]["name"] == "bad"
        else (201, None)
    )
    spool_to(backend.url, tmp_path)
    for name in ("before", "bad", "after"):
        with lineage_run(name):
            pass
    assert sdk.flush(PATIENCE)
    assert [name for name, _ in backend.names()] == ["before"] * 2 + ["after"] * 2
    assert "refuses START of job 'bad': HTTP 422" in caplog.text


def test_the_spool_serves_other_transports(tmp_path: Path) -> None:
    """Behind the spool may be any transport of the client; it gets events, not bytes."""
    out = tmp_path / "events.ndjson"
    inner = {"type": "file", "log_file_path": str(out), "append": True}
    use({"type": SPOOL, "folder": str(tmp_path / "spool"), "transport": inner})
    with lineage_run("outer"), lineage_run("inner", outputs=["d/t"]):
        pass
    client = sdk.delivery.emitter.emitter().client
    assert client is not None
    client.emit(JobEvent(eventTime="2026-11-20T00:00:00Z", job=Job("ns", "static job")))
    assert sdk.flush(PATIENCE)
    written = [json.loads(line) for line in out.read_text().splitlines()]
    assert [event.get("eventType") for event in written] == ["START", "START", "COMPLETE", "COMPLETE", None]
    assert written[1]["run"]["facets"]["parent"]["run"]["runId"] == written[0]["run"]["runId"]
    assert written[4]["job"] == {"namespace": "ns", "name": "static job", "facets": {}} or "tags" in written[4][
        "job"
    ].get("facets", {})


def test_url_beside_the_other_settings(backend: Backend, tmp_path: Path) -> None:
    """The settings of `http` may stand beside the spool's; the default folder is one per target, below the state."""
    use({"type": SPOOL, "url": backend.url, "auth": {"type": "api_key", "apiKey": "k"}})
    with lineage_run("job"):
        pass
    assert sdk.flush(PATIENCE)
    assert backend.headers[-1]["Authorization"] == "Bearer k"
    assert len(list((tmp_path / "home/.local/state/lineagelog").glob("spool-*"))) == 1


def test_openlineage_url_is_enough(backend: Backend, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The spool is switched on by environment variables alone."""
    monkeypatch.setenv("OPENLINEAGE_URL", backend.url)
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", SPOOL)
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__FOLDER", str(tmp_path / "s"))
    sdk.configure()
    with lineage_run("job"):
        pass
    assert sdk.flush(PATIENCE)
    assert backend.names() == [("job", "START"), ("job", "COMPLETE")]


def test_no_target_is_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    """A spool without target: the job runs, the log says what is missing."""
    Path("openlineage.yml").write_text(yaml.safe_dump({"transport": {"type": SPOOL}}))
    sdk.configure()
    for _ in range(3):
        with lineage_run("job"):
            pass
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        (
            "lineage: making the OpenLineage client failed: RuntimeError: SpoolTransport needs `transport`: the "
            "transport that sends the spooled events"
        )
    ]


# --- batch ----------------------------------------------------------------------------------------------------------


def test_events_go_in_batches(backend: Backend) -> None:
    """Many events, few requests, in order, to `/lineage/batch` as a bare array; gzip and headers as configured."""
    transport = use(
        {"type": BATCH, "url": with_batch(backend).url, "compression": "gzip", "custom_headers": {"X-Team": "a"}}
    )
    assert isinstance(transport, BatchTransport)
    for number in range(120):
        with lineage_run(f"job {number}"):
            pass
    assert sdk.flush(PATIENCE)
    assert backend.names() == [(f"job {number}", kind) for number in range(120) for kind in ("START", "COMPLETE")]
    assert 3 <= len(backend.requests) <= 10
    assert {path for path, _ in backend.requests} == {"/api/v1/lineage/batch"}
    assert backend.headers[0]["X-Team"] == "a"


@pytest.mark.parametrize("status", [404, 405, 501])
def test_without_a_batch_endpoint_one_by_one(backend: Backend, status: int) -> None:
    """The first answer decides; the batch endpoint is not asked again."""
    backend.status = lambda path, body: (status, None) if path.endswith("/batch") else (201, None)
    use({"type": BATCH, "url": backend.url})
    for number in range(3):
        with lineage_run(f"job {number}"):
            pass
        assert sdk.flush(PATIENCE)
    assert [path for path, code in backend.requests if code == status] == ["/api/v1/lineage/batch"]
    assert len(backend.events) == 6


def test_a_backend_that_refuses_arrays_gets_single_events(backend: Backend) -> None:
    """A 400 for the batch, and none for its events: batches are not tried again."""
    backend.status = lambda path, body: (400, None) if path.endswith("/batch") else (201, None)
    use({"type": BATCH, "url": backend.url})
    for _ in range(3):
        with lineage_run("job"):
            pass
        assert sdk.flush(PATIENCE)
    assert [code for _, code in backend.requests].count(400) == 1
    assert len(backend.events) == 6


def test_partial_success(backend: Backend, caplog: pytest.LogCaptureFixture) -> None:
    """Of a batch that is accepted in part, what can be retried is sent again, what cannot is logged."""
    seen: set[str] = set()

    def status(path: str, body: Any) -> tuple[int, Any]:
        failed = []
        for index, event in enumerate(body if isinstance(body, list) else []):
            if event["job"]["name"] == "bad":
                failed.append({"index": index, "reason": "no such job", "retriable": False})
            elif event["job"]["name"] == "later" and event["eventType"] == "START" and "later" not in seen:
                seen.add("later")
                failed.append({"index": index, "reason": "busy", "retriable": True})
        return 200, {"status": "partial_success", "failed_events": failed}

    backend.status = status
    use({"type": BATCH, "url": backend.url})
    for name in ("bad", "later", "good"):
        with lineage_run(name):
            pass
    assert sdk.flush(PATIENCE)
    assert "refuses START of job 'bad': no such job" in caplog.text
    assert backend.names()[-4:] == [(name, kind) for name in ("later", "good") for kind in ("START", "COMPLETE")]


def test_retry_after_is_kept(backend: Backend) -> None:
    """429 with Retry-After: the next attempt is not before."""
    times: list[float] = []

    def status(path: str, body: Any) -> tuple[int, Any]:
        times.append(time.monotonic())
        return (429, {"_headers": {"Retry-After": "1"}}) if len(times) == 1 else (201, None)

    backend.status = status
    use({"type": BATCH, "url": backend.url, "batch_size": 1, "flush_interval": 0})
    with lineage_run("job"):
        pass
    wait_until(lambda: len(times) >= 3)
    assert times[1] - times[0] >= 0.9


def test_a_full_queue_in_memory_drops(dead_url: str, caplog: pytest.LogCaptureFixture) -> None:
    """More than `queue_size` events do not wait in memory; the log says so once."""
    use({"type": BATCH, "url": dead_url, "queue_size": 4, "exit_timeout": 0})
    for _ in range(10):
        with lineage_run("job"):
            pass
    assert sum(record.levelname == "WARNING" for record in caplog.records if "4 events" in record.getMessage()) == 1


def test_a_redirect_is_not_taken_for_delivered(backend: Backend, caplog: pytest.LogCaptureFixture) -> None:
    """A redirected POST would become a GET and the event be lost: it is kept and said."""
    backend.status = lambda path, body: (302, {"_headers": {"Location": "/login"}})
    transport = use({"type": BATCH, "url": backend.url})
    with lineage_run("job"):
        pass
    assert not transport.flush(1)
    assert "answers 302" in caplog.text


# --- the client's own transports ------------------------------------------------------------------------------------


def test_a_slow_http_backend_does_not_slow_the_job(backend: Backend) -> None:
    """The client's own http transport waits for its answers in the background."""
    backend.goes_on.clear()
    use({"type": "http", "url": backend.url})
    for number in range(3):
        with lineage_run(f"job {number}"):
            pass
    assert backend.events == []
    backend.goes_on.set()
    assert sdk.flush(PATIENCE)
    assert [kind for _, kind in backend.names()] == ["START", "COMPLETE"] * 3


def test_a_dead_http_backend_does_not_hold_the_process(dead_url: str) -> None:
    """The client would try for 9 seconds; the process waits its exit time-out for it, and tells once."""
    use({"type": "http", "url": dead_url}, lineagelog={"exit_timeout": 0.5})
    done = run_job("job")
    assert done.returncode == 0
    assert done.stderr.count("not delivered before the end of the process") == 1


def test_wait_makes_the_end_of_a_run_wait(backend: Backend) -> None:
    """With `wait` the events are there when the outermost run is over; bounded all the same."""
    use({"type": "http", "url": backend.url}, lineagelog={"wait": PATIENCE})
    with lineage_run("outer"), lineage_run("inner"):
        pass
    assert len(backend.events) == 4
    backend.goes_on.clear()
    sdk.configure(wait=0.1)
    with lineage_run("slow"):
        pass
    assert len(backend.events) == 4
    backend.goes_on.set()
    assert sdk.flush(PATIENCE)


def test_a_transport_that_raises_is_logged_once(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    """A file transport on a folder that is not there: every event fails, the job does not, the log has one warning."""
    use({"type": "file", "log_file_path": str(tmp_path / "missing" / "x.ndjson"), "append": True})
    for _ in range(5):
        with lineage_run("job"):
            pass
    warnings = [
        record for record in caplog.records if record.levelname == "WARNING" and record.name == "lineagelog.sdk"
    ]
    assert len(warnings) == 1


def test_disabled_means_silent(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """OPENLINEAGE_DISABLED is the client's switch, and ours."""
    monkeypatch.setenv("OPENLINEAGE_DISABLED", "true")
    sdk.configure()
    with lineage_run("job"):
        pass
    assert [record for record in caplog.records if record.levelname == "WARNING"] == []


# --- the courier ----------------------------------------------------------------------------------------------------


def test_an_item_that_is_answered_with_errors_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """After ten answered failures the first item goes to the end of the queue, and is tried again after the others."""
    from lineagelog.sdk.delivery import courier

    monkeypatch.setattr(courier, "_FIRST_PAUSE", 0.001)
    monkeypatch.setattr(courier, "_LONGEST_PAUSE", 0.002)
    delivered: list[str] = []
    attempts: list[str] = []

    def deliver(items: list[str]) -> int:
        attempts.append(items[0])
        if items[0] == "poison" and len(attempts) < 30:
            raise TryLaterError("500", answered=True)
        delivered.append(items[0])
        return 1

    queue: MemoryQueue[str] = MemoryQueue(10)
    carrier = Courier(queue, deliver, CourierPace())
    for item in ("poison", "a", "b"):
        queue.append(item)
    carrier.notify()
    assert carrier.flush(PATIENCE)
    assert delivered == ["a", "b", "poison"]
    assert attempts[:10] == ["poison"] * 10
    carrier.close(1)


def test_a_courier_that_was_closed_starts_again() -> None:
    """An append after `close` is delivered too; no thread is left when it is closed at last."""
    got: list[int] = []

    def deliver(items: list[int]) -> int:
        got.extend(items)
        return len(items)

    queue: MemoryQueue[int] = MemoryQueue(10)
    carrier = Courier(queue, deliver, CourierPace(poll=0.05))
    for number in range(3):
        queue.append(number)
        carrier.notify()
        assert carrier.close(PATIENCE)
    assert got == [0, 1, 2]
    wait_until(
        lambda: (
            not any(
                thread.name == "lineagelog-courier" and thread is carrier._thread for thread in threading.enumerate()
            )
        )
    )


def test_a_memory_queue_is_bounded() -> None:
    """One clear error beyond the limit."""
    queue: MemoryQueue[int] = MemoryQueue(1)
    queue.append(1)
    with pytest.raises(SpoolError, match="1 event waiting"):
        queue.append(2)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_sends_its_own_events(backend: Backend, tmp_path: Path) -> None:
    """After a fork, child and parent both deliver, each its own."""
    spool_to(with_batch(backend).url, tmp_path)
    with lineage_run("parent 1"):
        pass
    assert sdk.flush(PATIENCE)
    child = os.fork()
    if child == 0:
        try:
            with lineage_run("child"):
                pass
            os._exit(0 if sdk.flush(PATIENCE) else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    with lineage_run("parent 2"):
        pass
    assert sdk.flush(PATIENCE)
    assert [name for name, _ in backend.names()] == ["parent 1"] * 2 + ["child"] * 2 + ["parent 2"] * 2


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_forked_in_the_body_does_not_end_the_run(dead_url: str, tmp_path: Path) -> None:
    """A child that leaves the body by the same `with` says nothing; what it starts itself it tells."""
    spool_to(dead_url, tmp_path)
    try:
        with lineage_run("job"):
            child = os.fork()
            if child == 0:
                with lineage_run("in the child"):
                    pass
                raise SystemExit(1)
            assert os.waitpid(child, 0)[1] == 0
    except SystemExit:
        os._exit(0)
    assert events_of(tmp_path / "spool") == [
        ("job", "START"),
        ("in the child", "START"),
        ("in the child", "COMPLETE"),
        ("job", "COMPLETE"),
    ]


def test_a_plain_client_uses_the_spool(backend: Backend, tmp_path: Path) -> None:
    """Other producers built on the client get the transport by the same dotted path."""
    spool_to(backend.url, tmp_path)
    client = OpenLineageClient()
    event = RunEvent(
        eventType=RunState.OTHER,
        eventTime="2026-11-20T00:00:00Z",
        run=Run("0198b6f0-0000-7000-8000-000000000000"),
        job=Job("ns", "other producer"),
    )
    client.emit(event)
    assert client.close(PATIENCE)
    assert backend.names() == [("other producer", "OTHER")]


def test_several_transports_at_once(backend: Backend, tmp_path: Path) -> None:
    """The client's composite: in the job's thread if all are quick, else in the background; each gets every event."""
    spool = {"type": SPOOL, "folder": str(tmp_path / "spool"), "transport": {"type": "http", "url": backend.url}}
    out = tmp_path / "events.ndjson"
    file = {"type": "file", "log_file_path": str(out), "append": True}
    for transports, quick in (([file, spool], True), ([file, {"type": "http", "url": backend.url}], False)):
        transport = use({"type": "composite", "transports": transports})
        assert is_quick(transport) == quick
        before = len(backend.events)
        with lineage_run("job"):
            pass
        assert sdk.flush(PATIENCE)
        wait_until(lambda before=before: len(backend.events) == before + 2)  # type: ignore[misc]
        transport.close(5)
    assert len(out.read_text().splitlines()) == 4


def test_kafka_keys_are_the_root_jobs(memory: Any) -> None:
    """The client's Kafka transport finds parent and root in our events, also in those read back from a spool."""
    kept: list[Any] = []
    memory.emit = kept.append
    with lineage_run("outer"), lineage_run("inner"):
        pass
    transport = KafkaTransport(KafkaConfig(topic="t", config={}))
    for event in (kept[1], event_from_plain(json.loads(serialized(kept[1])))):
        assert transport._get_message_key(event) == "run:default/outer"
