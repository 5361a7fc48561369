"""A `lineagelog daemon` process around the stand-in platform of jars/, and what tests ask it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import COMMAND, PATIENCE, ROOT, one_builds, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PLATFORMS = ROOT / "jars" / "standin" / "target"
PROVIDERS = {
    "4.3": "io.github.lineagelog.egeria.v4.LineagelogProvider",
    "6.0": "io.github.lineagelog.egeria.v6.LineagelogProvider",
}
PUBLISH = {
    "4.3": "/servers/s/open-metadata/integration-services/lineage-integrator/users/u/api/v1/lineage",
    "6.0": "/servers/s/open-metadata/integration-daemon/publish-open-lineage-event",
}
MAIN = "io.github.lineagelog.egeria.standin.StandIn"


def build() -> None:
    """Make the jars and the stand-in platforms if they are not there; skips where there is no Java to do it."""
    missing = [name for name in ("java", "javac", "mvn", "make") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"no {missing[0]} to build and run the stand-in daemon with")
    with one_builds():  # two workers of pytest-xdist would build at once
        done = subprocess.run(["make", "-s", "jar", "standin"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def connector(database: str | None, name: str = "lineage log", **properties: Any) -> dict[str, Any]:
    """A connector of a stand-in's configuration; for Egeria 6 until `Daemon` says otherwise."""
    place = {"class": "Endpoint", "address": database, "networkAddress": database}
    endpoint = {} if database is None else {"endpoint": place}
    connection = {"class": "Connection", "configurationProperties": properties, **endpoint}
    return {"name": name, "connection": connection}


@dataclass
class Daemon:
    """A running `lineagelog daemon`."""

    process: subprocess.Popen[bytes]
    folder: Path
    era: str
    port: int = 0

    def wait_until_ready(self) -> None:
        """Until the stand-in has told its port."""
        file = self.folder / "port"
        wait_until(lambda: file.exists() or self.process.poll() is not None, self.said)
        assert file.exists(), self.said()
        self.port = int(file.read_text())

    def said(self) -> str:
        """What the process wrote."""
        return "".join((self.folder / name).read_text(errors="replace")[-4000:] for name in ("out", "err"))

    def logs(self, action: str = "") -> list[dict[str, Any]]:
        """Our own log lines."""
        lines = [line for line in (self.folder / "err").read_text().splitlines() if line.startswith("{")]
        return [each for each in map(json.loads, lines) if not action or each["action"] == action]

    def ask(self, method: str, path: str, body: bytes | None = None) -> Any:
        """Ask the stand-in; raises urllib.error.HTTPError for an answer that is not 200."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", body, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.loads(answer.read())

    def publish(self, body: bytes | Mapping[str, Any]) -> None:
        """Publish an event by REST; returns when all listeners have had it."""
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.ask("POST", PUBLISH[self.era], sent)

    def load(self, copies: int, *, first: int = 0, threads: int = 1, template: bytes = b"") -> dict[str, Any]:
        """Publish copies from threads inside the platform."""
        query = f"first={first}&copies={copies}&threads={threads}"
        answer: dict[str, Any] = self.ask("POST", f"/test/publish?{query}", template)
        return answer

    def audit(self, message: str = "") -> list[dict[str, Any]]:
        """The records of the audit log."""
        records = self.ask("GET", "/test/audit-log")
        return [each for each in records if not message or each["messageId"].endswith(message)]

    def metrics(self, name: str = "lineage log") -> list[str]:
        """The parameters of the health message of a connector after a refresh."""
        self.ask("POST", "/test/refresh", b"")
        found = [each["parameters"] for each in self.audit() if each["messageId"][-4:] in ("0002", "0003")]
        return next(each for each in reversed(found) if each[0] == name)

    def end(self, number: int = signal.SIGTERM) -> tuple[int, float]:
        """Send a signal; the exit code and how many seconds it took."""
        begin = time.monotonic()
        self.process.send_signal(number)
        return self.process.wait(PATIENCE), time.monotonic() - begin


@contextlib.contextmanager
def daemon(
    folder: Path,
    connectors: list[dict[str, Any]],
    *options: str,
    era: str = "6.0",
    platform: Path | None = None,
    variables: Mapping[str, str] | None = None,
    **config: Any,
) -> Iterator[Daemon]:
    """Run the stand-in, until it has told its port; ``config`` are further keys of its configuration."""
    folder.mkdir(exist_ok=True)
    (folder / "port").unlink(missing_ok=True)
    for each in connectors:
        kind = {"class": "ConnectorType", "connectorProviderClassName": PROVIDERS[era]}
        each["connection"]["connectorType"] = kind
    content = {"portFile": str(folder / "port"), "connectors": connectors, **config}
    (folder / "standin.json").write_text(json.dumps(content))
    where = platform or PLATFORMS / era / "lib"
    main = ["--main-class", MAIN] if where.is_dir() else []
    words = ["--platform", str(where), *main, *options, "--", str(folder / "standin.json")]
    with run(folder, *words, era=era, variables=variables) as running:
        running.wait_until_ready()
        yield running


@contextlib.contextmanager
def deliver(
    folder: Path, platform: Path, database: str, events: int | Path, *more: str, threads: int = 1, **properties: Any
) -> Iterator[Daemon]:
    """Run Deliver.java: events go straight to the bridge."""
    argument = json.dumps({"name": "lineage log", "address": database, "properties": properties})
    words = ["--platform", str(platform), "--", argument, str(threads), str(events), *more]
    with run(folder, *words) as running:
        yield running


@contextlib.contextmanager
def run(folder: Path, *words: str, era: str = "6.0", variables: Mapping[str, str] | None = None) -> Iterator[Daemon]:
    """Run `lineagelog daemon` in a folder; killed at the end of the block if it still runs."""
    given = {
        "LINEAGELOG_DAEMON__SPOOL_DIR": str(folder / "spool"),
        "LINEAGELOG_DAEMON__JVM_OPTIONS": '["-Xmx256m", "-XX:TieredStopAtLevel=1"]',
        "LINEAGELOG_LOG__FORMAT": "json",
        **(variables or {}),
    }
    with (folder / "out").open("ab") as out, (folder / "err").open("ab") as err:
        process = subprocess.Popen(
            [COMMAND, "daemon", *words], env=os.environ | given, stdout=out, stderr=err, cwd=folder
        )
    try:
        yield Daemon(process, folder, era)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
