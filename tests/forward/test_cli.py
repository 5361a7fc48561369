"""`lineagelog forward`: what an operator types, sees, and gets as exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from lineagelog.store import LogStore
from tests.cli.conftest import Ran, no_settings_of_the_machine, run
from tests.support import COMMAND, PATIENCE, wait_until

from .conftest import count, event, store_all
from .receiver import Reply, receiving

__all__ = ["no_settings_of_the_machine", "run"]

type Run = Callable[..., Ran]


@pytest.fixture
def configure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Writes the section [forward.other] of a settings file that commands read."""

    def write(url: str) -> None:
        file = tmp_path / "lineagelog.toml"
        file.write_text(f'[forward.other]\nurl = "{url}"\nretry_first = 0.01\ngive_up = 0.3\nin_flight = 1\n')
        monkeypatch.setenv("LINEAGELOG_CONFIG", str(file))

    return write


@pytest.mark.long
def test_forward_status_and_parked(log: LogStore, run: Run, configure: Callable[[str], None]) -> None:
    """Exit code 1 where something is parked; parked events are listed, tried again, skipped."""
    store_all(log, [event(number) for number in range(4)])
    refuse = {b'"run-1"', b'"run-2"'}
    with receiving(script=lambda r: Reply(400, b"no") if any(n in r.body for n in refuse) else None) as receiver:
        configure(receiver.url)
        (before,) = run("forward", "status", "--json").rows
        assert (before["state"], before["lag_events"]) == ("never run", 4)
        done = run("forward", "other")
        assert (done.code, done.out) == (
            1,
            "other: delivered 2, parked 2, filtered 0: lineagelog forward parked list\n",
        )
        rows = run("forward", "parked", "list", "--json").rows
        assert [(row["run_id"], row["status"], row["detail"]) for row in rows] == [
            ("run-1", 400, "HTTP 400: no"),
            ("run-2", 400, "HTTP 400: no"),
        ]
        refuse.pop()
        again = run("forward", "parked", "retry", "other")
        assert (again.code, again.out) == (1, "delivered 1, parked again 1, purged meanwhile 0\n")
        (left,) = run("forward", "parked", "list", "--target", "other", "--json").rows
        assert run("forward", "parked", "skip", "other").code == 2
        assert run("forward", "parked", "skip", "other", "99").err == (
            "lineagelog: event 99 is not parked for this target: see `lineagelog forward parked list`\n"
        )
        assert run("forward", "parked", "skip", "other", str(left["id"])).out == "skipped 1\n"
        (after,) = run("forward", "status", "--json").rows
    assert (after["state"], after["lag_events"], after["delivered"], after["parked"]) == ("stopped", 0, 2, 0)
    assert run("forward", "status").code == 0
    assert len(run("forward", "parked", "list", "--state", "all", "--json").rows) == 2


@pytest.mark.long
def test_dry_run_and_range(log: LogStore, run: Run, configure: Callable[[str], None]) -> None:
    """Nothing is sent by the first; the second takes instants as all commands do."""
    store_all(log, [event(number, eventTime=f"2026-03-{number + 1:02}T00:00:00Z") for number in range(9)])
    with receiving() as receiver:
        configure(receiver.url)
        dry = run("forward", "other", "--dry-run", "--since", "2026-03-03", "--until", "2026-03-05")
        assert dry.out.startswith("other: would send 2 events (")
        assert receiver.requests == []
        done = run("forward", "other", "--since", "2026-03-03", "--until", "2026-03-05", "--json")
        assert (done.code, done.json["delivered"], len(receiver.stored)) == (0, 2, 2)
        assert run("forward", "other", "--json").json["delivered"] == 9


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere",), "there is no target 'nowhere': settings section [forward.nowhere] (there are: other)"),
        (("other", "--follow", "--dry-run"), "--follow goes on with what arrives: it excludes --since, --until and --dry-run"),  # noqa: E501
        (("other",), "other: HTTP 503: closed"),
        (("other", "--since", "soon"), "'soon' is no time: write 2026-03-01, 2026-03-01T08:00:00Z, -7d (s, m, h, d, w) or now"),  # noqa: E501
        (("rebase",), "rebase rewrites the events' order of arrival: stop all writers, then say --yes"),
    ],
)  # fmt: skip
def test_errors_in_one_line(
    log: LogStore, run: Run, configure: Callable[[str], None], arguments: tuple[str, ...], message: str
) -> None:
    """Exit code 2, no traceback."""
    store_all(log, [event(1)])
    with receiving(script=lambda _: Reply(503, b"closed")) as receiver:
        configure(receiver.url)
        done = run("forward", *arguments)
    assert (done.code, done.err.splitlines()[-1]) == (2, f"lineagelog: {message}")


@pytest.mark.long
def test_url_or_file_without_settings(log: LogStore, run: Run, tmp_path: Path) -> None:
    """A target needs no section."""
    store_all(log, [event(1)])
    path = tmp_path / "events.ndjson"
    assert run("forward", str(path)).code == 0
    assert json.loads(path.read_text())["run"] == {"runId": "run-1"}


@pytest.mark.long
def test_follow_until_terminated(
    log: LogStore, other: LogStore, database_url: str, configure: Callable[[str], None], tmp_path: Path
) -> None:
    """SIGTERM finishes what is on its way and ends with exit code 0."""
    store_all(log, [event(1)])
    with receiving(other) as receiver:
        configure(receiver.url)
        command = [COMMAND, "forward", "other", "--follow", "--json"]
        environment = {**os.environ, "LINEAGELOG_DATABASE": database_url}
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
            wait_until(lambda: count(other) == 1)
            store_all(log, [event(2)])
            wait_until(lambda: count(other) == 2)
            process.send_signal(signal.SIGTERM)
            out, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, json.loads(out)["delivered"]) == (0, 2)
