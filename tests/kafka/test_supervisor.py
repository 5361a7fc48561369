"""The supervisor of worker processes, with workers that do nothing but end in one way or another."""

from __future__ import annotations

import os
import signal
import threading
from functools import partial
from pathlib import Path

import pytest

from lineagelog.kafka import supervisor
from lineagelog.kafka.metrics import WorkerMetrics
from lineagelog.kafka.supervisor import Link, Supervisor
from tests.support import PATIENCE, join, wait_until


def crash_once(folder: str, number: int, link: Link) -> None:
    """Worker 0 is killed the first time, worker 1 finishes at once."""
    mark = Path(folder) / f"{number}"
    link.tell(WorkerMetrics(stored=3 + number, dead=2 - number))
    if number == 0 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)


def ignore_the_stop(number: int, link: Link) -> None:
    link.open()
    link.tell(WorkerMetrics(stored=1))
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    link.tell(WorkerMetrics(stored=2))
    while True:
        signal.pause()


def wait_for_the_stop(number: int, link: Link) -> None:
    stop = link.open()
    link.tell(WorkerMetrics(stored=1))
    stop.wait(PATIENCE)
    link.tell(WorkerMetrics(stored=10))


@pytest.mark.long
def test_a_crashed_worker_is_started_again_and_its_metrics_count(tmp_path: Path) -> None:
    """One that finished is not; the sum has what each process counted, the killed one's too."""
    running = Supervisor(partial(crash_once, str(tmp_path)), 2)
    running.run(threading.Event())
    metrics = running.metrics()
    assert (running.restarts, metrics.read, metrics.stored, metrics.dead) == (1, 15, 10, 5)


@pytest.mark.long
def test_a_stop_takes_the_last_metrics() -> None:
    """Workers are told to stop, and what they say last is in the sum."""
    running, stop = Supervisor(wait_for_the_stop, 2), threading.Event()
    thread = threading.Thread(target=running.run, args=(stop,))
    thread.start()
    wait_until(lambda: running.metrics().read == 2)
    stop.set()
    join(thread)
    assert (running.metrics().read, running.restarts, running.running) == (20, 0, 0)


def test_a_worker_that_does_not_stop_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """After nine seconds; here after one."""
    monkeypatch.setattr(supervisor, "_STOP_SECONDS", 1.0)
    running, stop = Supervisor(ignore_the_stop, 1), threading.Event()
    thread = threading.Thread(target=running.run, args=(stop,))
    thread.start()
    wait_until(lambda: running.metrics().read == 2)
    stop.set()
    join(thread)
    assert running.running == 0
