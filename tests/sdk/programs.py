"""Short programs that use the SDK as jobs do, and how the tests set up where their events go."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from lineagelog import sdk

if TYPE_CHECKING:
    from collections.abc import Callable

SPOOL = "lineagelog.sdk.transport.SpoolTransport"
BATCH = "lineagelog.sdk.transport.BatchTransport"
FOR_EVER = 120.0
"""Seconds after which a test gives up: a limit for what hangs, not for what is slow."""


def configured(transport: dict[str, Any], **more: Any) -> Any:
    """Write openlineage.yml for this process and those it starts; the transport that the client makes of it."""
    Path("openlineage.yml").write_text(yaml.safe_dump({"transport": transport, **more}))
    sdk.configure()
    client = sdk.delivery.emitter.emitter().client
    assert client is not None
    return client.transport


def spooled(url: str, folder: Path, **more: Any) -> Any:
    """A spool before an http backend."""
    return configured({"type": SPOOL, "folder": str(folder), "transport": {"type": "http", "url": url}, **more})


def run_program(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    return subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code, *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=FOR_EVER,
    )


def eventually(condition: Callable[[], Any]) -> None:
    """Wait for a fact."""
    deadline = time.monotonic() + FOR_EVER
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
