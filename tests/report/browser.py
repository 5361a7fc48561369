"""A headless Chromium, spoken to over its debugging pipe: what it asks for, what it complains of, what it shows."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from pathlib import Path

from tests.support import PATIENCE

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


class Browser:
    """One page in it. ``requests`` are the URLs that it asked for, ``complaints`` what it logged or threw."""

    def __init__(self, profile: Path) -> None:
        read, self._write = os.pipe()
        self._read, write = os.pipe()
        command = f'exec "$@" 3<&{read} 4>&{write}'
        self._process = subprocess.Popen(
            ["bash", "-c", command, "chromium", CHROMIUM or "chromium", *_OPTIONS, f"--user-data-dir={profile}"],
            pass_fds=(read, write),
            stderr=subprocess.DEVNULL,
        )
        os.close(read)
        os.close(write)
        self._number, self._pending, self._session = 0, b"", ""
        self.requests: list[str] = []
        self.complaints: list[str] = []

    def __enter__(self) -> Self:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE)
        os.close(self._read)
        os.close(self._write)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Ask it, and take its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            told = self._next()
            if told.get("id") == self._number:
                assert "error" not in told, told
                return dict(told["result"])

    def open(self, url: str, *, scheme: str = "light", width: int = 1280, height: int = 900) -> None:
        """Go there, and wait until it is loaded."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Page.navigate", url=url)
        while self._next().get("method") != "Page.loadEventFired":
            pass
        self.evaluate("document.readyState")  # what was said before this answer has been heard

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page."""
        told = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def picture(self, *, is_whole: bool = False) -> bytes:
        """What it shows, as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=is_whole)["data"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._pending:
            ready, _, _ = select.select([self._read], [], [], PATIENCE)
            assert ready, "Chromium says nothing"
            part = os.read(self._read, 1 << 20)
            assert part, "Chromium has ended"
            self._pending += part
        message, _, self._pending = self._pending.partition(b"\0")
        told: dict[str, Any] = json.loads(message)
        self._note(told.get("method", ""), told.get("params", {}))
        return told

    def _note(self, method: str, told: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif method in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"):
            self.complaints.append(json.dumps(told)[:500])
