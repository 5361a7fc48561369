"""Logs go to standard error as long as there is somebody who reads it."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import structlog

from lineagelog.logs import configure_logs

if TYPE_CHECKING:
    import pytest


def test_log_that_nobody_reads_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed standard error (a pipe whose reader went away) raises nothing in whoever logs: a writer, the server."""
    log = structlog.get_logger("tests")
    try:
        configure_logs("info", "json")
        first = io.StringIO()
        monkeypatch.setattr("sys.stderr", first)
        log.info("heard", action="test")
        said = json.loads(first.getvalue())
        first.close()
        log.info("not heard", action="test")
        again = io.StringIO()
        monkeypatch.setattr("sys.stderr", again)
        log.info("heard again", action="test")
    finally:
        structlog.reset_defaults()
    assert (said["event"], said["action"]) == ("heard", "test")
    assert json.loads(again.getvalue())["event"] == "heard again"
