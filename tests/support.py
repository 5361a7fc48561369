"""What tests of several areas share: the size of properties, small events, and the command, here or as a process."""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from typer.testing import CliRunner

from lineagelog.cli import make_app

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parents[1]
COMMAND = str(Path(sys.executable).with_name("lineagelog"))
EXAMPLES = int(os.environ.get("LINEAGELOG_EXAMPLES", "10"))
"""Examples of a property; dearer and cheaper ones take a share or a multiple of it."""
PATIENCE = 240.0
"""Seconds after which a test gives up: an end for what hangs, never a limit for what is slow."""

_APP = make_app()
_GREETING = re.compile(r"lineagelog listens on (http://127\.0\.0\.1:(\d+))")


# --- waiting ----------------------------------------------------------------------------------------------------------


def wait_until(
    fact: Callable[[], object],
    otherwise: Callable[[], object] = lambda: "it did not come to pass",
    seconds: float = PATIENCE,
) -> None:
    """Wait for something that others do; the one way in which tests wait. ``otherwise`` says what is there instead."""
    end = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < end, otherwise()
        time.sleep(0.02)


def join(*threads: threading.Thread) -> None:
    """Wait for the end of threads."""
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()


@contextmanager
def one_builds() -> Iterator[None]:
    """One process at a time, of all that test this checkout, as `make` has it: for what is built once."""
    with (ROOT / "Makefile").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


# --- events -----------------------------------------------------------------------------------------------------------


def event(run_id: str = "r1", event_type: str = "COMPLETE", **more: Any) -> dict[str, Any]:
    """A small event; `more` replaces members."""
    return {
        "eventType": event_type,
        "eventTime": "2026-03-01T08:00:00Z",
        "producer": "https://example.invalid/tests",
        "run": {"runId": run_id},
        "job": {"namespace": "tests", "name": "job"},
        **more,
    }


def encode(*events: dict[str, Any]) -> bytes:
    """NDJSON."""
    return b"".join(json.dumps(each).encode() + b"\n" for each in events)


# --- the database -----------------------------------------------------------------------------------------------------


def connect(database_url: str, **options: Any) -> psycopg.Connection:
    """A plain connection, without the product in between."""
    return psycopg.connect(database_url.replace("+psycopg", ""), **options)


# --- the command ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def rows(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


def run_here(*arguments: str, stdin: bytes | None = None) -> Ran:
    """Run a command in this process."""
    result = CliRunner().invoke(_APP, list(arguments), input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ran(result.exit_code, result.stdout, result.stderr)


def run_process(*arguments: str, stdin: bytes | None = None, **variables: str) -> Ran:
    """Run a command as a process."""
    environment = os.environ | variables
    done = subprocess.run([COMMAND, *arguments], input=stdin, env=environment, capture_output=True, timeout=PATIENCE)
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


@contextmanager
def serve_process(*options: str, **variables: str) -> Iterator[tuple[subprocess.Popen[str], str, list[str]]]:
    """A running `lineagelog serve`: the process, its port, and what it said."""
    process = subprocess.Popen(
        [COMMAND, "serve", "--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | variables,
    )
    try:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(3)]
        found = _GREETING.match(said[0])
        assert found, (said, process.stderr and process.stderr.read())
        yield process, found[2], said
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
