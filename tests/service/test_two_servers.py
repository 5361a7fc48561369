"""Two `serve` processes on one store, as they are run: one of them forwards, and its end costs no event."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import urllib.request
from pathlib import Path

import pytest

from tests.forward.receiver import receiving
from tests.support import PATIENCE, encode, event, run_process, serve_process, wait_until

LEADS = 'lineagelog_task_leads{task="forward endpoint"}'


def metrics(port: str) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE) as answer:
        found = re.findall(r"^(lineagelog_(?:task|forward)_\S+(?: \S+)?) (\S+)$", answer.read().decode(), re.MULTILINE)
    return {name: float(value) for name, value in found}


def post(port: str, run_id: str) -> None:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/v1/lineage", encode(event(run_id)), method="POST")
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        assert answer.status == 201


@pytest.mark.long
def test_the_leader_is_killed_and_the_other_takes_over(database_url: str, tmp_path: Path) -> None:
    """Only one of two leads. Killed with -9 while events come in, it is followed; the receiver gets every event."""
    config = tmp_path / "lineagelog.toml"
    with receiving() as receiver:
        config.write_text(f'[forward.endpoint]\nurl = "{receiver.url}"\nfollow = true\npoll = 0.1\n')
        options = ("--database", database_url, "--config", str(config))
        with serve_process(*options) as (first, one, _), serve_process(*options) as (second, two, _):
            servers: dict[str, subprocess.Popen[str]] = {one: first, two: second}
            wait_until(lambda: sum(metrics(port)[LEADS] for port in servers) == 1)
            for number in range(20):
                post((one, two)[number % 2], f"before-{number}")
            wait_until(lambda: len(receiver.stored) >= 20)
            (leader,) = [port for port in servers if metrics(port)[LEADS] == 1]
            (follower,) = set(servers) - {leader}
            delivered = 'lineagelog_forward_events_total{outcome="delivered",target="endpoint"}'
            assert metrics(follower)[delivered] == 0
            for number in range(10):
                post(leader, f"last-{number}")
            servers[leader].kill()
            for number in range(10):
                post(follower, f"after-{number}")
            wait_until(lambda: metrics(follower)[LEADS] == 1)
            wanted = {f"before-{n}" for n in range(20)} | {
                f"{when}-{n}" for when in ("last", "after") for n in range(10)
            }
            wait_until(lambda: {json.loads(body)["run"]["runId"] for body in receiver.stored} == wanted)
            wait_until(lambda: metrics(follower)['lineagelog_forward_lag_events{target="endpoint"}'] == 0)
            assert metrics(follower)['lineagelog_task_failing{task="forward endpoint"}'] == 0
            servers[follower].send_signal(signal.SIGTERM)
            assert servers[follower].wait(60) == 0
    status = run_process("forward", "status", "--json", *options)
    assert [(row["state"], row["lag_events"]) for row in status.rows] == [("stopped", 0)]
