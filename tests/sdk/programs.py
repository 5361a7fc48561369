"""Short programs that use the SDK as jobs do, and how the tests set up where their events go."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from lineagelog import sdk
from tests.support import PATIENCE

SPOOL = "lineagelog.sdk.transport.SpoolTransport"
BATCH = "lineagelog.sdk.transport.BatchTransport"
FOR_EVER = PATIENCE


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
