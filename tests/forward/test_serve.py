"""`lineagelog serve` with targets that it forwards to on its own."""

from __future__ import annotations

import json
import re
import signal
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from lineagelog.errors import SettingsError, StoreUnavailable
from lineagelog.service.forwarding import ForwardStatus
from lineagelog.service.targets import served_targets
from tests.cli.conftest import no_settings_of_the_machine
from tests.support import PATIENCE, run_process, serve_process, wait_until

from .conftest import event
from .receiver import receiving

__all__ = ["no_settings_of_the_machine"]


def _post(port: str, body: bytes) -> int:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/v1/lineage", data=body, method="POST")
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return int(answer.status)


def _metrics(port: str) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE) as answer:
        text = answer.read().decode()
    found = re.findall(r"^lineagelog_forward_(\S+) (\S+)$", text, re.MULTILINE)
    return {name: float(value) for name, value in found}


@pytest.mark.long
def test_serve_forwards_in_the_background(database_url: str, tmp_path: Path) -> None:
    """A file at intervals and an endpoint that is followed get the posted event; one that fails disturbs nobody.

    Targets without follow and interval are left alone. The metrics tell; the stop ends it all with 0.
    """
    copy, config = tmp_path / "copy.ndjson", tmp_path / "lineagelog.toml"
    (tmp_path / "folder").mkdir()
    with receiving() as receiver:
        config.write_text(
            f"""
            [forward.copy]
            url = "{copy}"
            interval = 1
            [forward.endpoint]
            url = "{receiver.url}"
            follow = true
            poll = 0.1
            [forward.broken]
            url = "{tmp_path / "folder"}"
            follow = true
            [forward.by_hand]
            url = "{tmp_path / "by_hand.ndjson"}"
            """
        )
        with serve_process("--database", database_url, "--config", str(config)) as (process, port, _):
            assert _post(port, event(7)) == 201
            wait_until(lambda: copy.exists() and copy.stat().st_size > 0 and len(receiver.stored) == 1)
            name = 'events_total{outcome="delivered",target="%s"}'
            wait_until(lambda: [_metrics(port)[name % each] for each in ("copy", "endpoint")] == [1, 1])
            wait_until(lambda: _metrics(port).get('lag_events{target="copy"}') == 0)
            seen = _metrics(port)
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
            assert process.stderr is not None
            logged = [json.loads(line) for line in process.stderr]
    assert [json.loads(line) for line in copy.read_bytes().splitlines()] == [json.loads(event(7))]
    assert not (tmp_path / "by_hand.ndjson").exists()
    assert {name: seen[f'failing{{target="{name}"}}'] for name in ("copy", "endpoint", "broken")} == {
        "copy": 0,
        "endpoint": 0,
        "broken": 1,
    }
    assert (seen['parked{target="copy"}'], seen['lag_seconds{target="endpoint"}']) == (0, 0)
    assert seen['lag_events{target="broken"}'] == 1
    assert not [name for name in seen if "by_hand" in name]
    lines = [line for line in logged if line["action"] == "forward"]
    assert [line["target"] for line in lines if line["event"] == "forwarding begins"] == ["broken", "copy", "endpoint"]
    assert [line["target"] for line in lines if line["event"] == "forwarding failed"] == ["broken"]
    assert {line["delivered"] for line in lines if line["event"] == "forwarding ends"} == {0, 1}


def test_a_section_that_cannot_be_used_ends_serve(database_url: str, tmp_path: Path) -> None:
    """One line and exit code 2, before anything listens."""
    config = tmp_path / "lineagelog.toml"
    config.write_text('[forward.copy]\nurl = "copy.ndjson"\ninterval = 1\nfollow = true\n')
    ran = run_process("serve", "--port", "0", "--database", database_url, "--config", str(config))
    assert (ran.code, ran.err) == (2, "lineagelog: 'forward.copy': one of follow and interval, not both\n")


@pytest.mark.parametrize(
    ("url", "module", "extra"),
    [
        ("https://h.example/api/v1/lineage", "forward.http", "forward"),
        ("kafka://h.example/t", "kafka.producer", "kafka"),
    ],
)
def test_a_missing_extra_is_said_at_the_start(
    url: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For targets that serve forwards to, with what to install; others are not looked at."""
    monkeypatch.setitem(sys.modules, f"lineagelog.{module}", None)
    assert served_targets({"other": {"url": url}}) == []
    with pytest.raises(SettingsError, match=rf"pip install 'lineagelog\[{extra}\]'"):
        served_targets({"other": {"url": url, "follow": True}})


def test_the_status_is_looked_up_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once for many scrapes; without a database there are no figures, and nothing is raised."""
    looks: list[int] = []

    def look() -> list[dict[str, Any]]:
        looks.append(1)
        if len(looks) > 1:
            raise StoreUnavailable("gone")
        return [{"target": "copy"}]

    status = ForwardStatus(look)
    assert [status.rows() for _ in range(9)] == [[{"target": "copy"}]] * 9
    assert len(looks) == 1
    monkeypatch.setattr("lineagelog.service.forwarding.time.monotonic", lambda: 1e12)
    assert status.rows() == []
    status.close()
