"""What `lineage_run` costs the thread of the job: live, slow and dead backends, with and without the spool.

Run: `python -m benchmarks.sdk [--runs N]`. Each line is a process of its own that runs N empty jobs (two events each,
one input and one output with five columns, parent facets from an enclosing run), a pause of 2 ms between them, as a job
that does something would leave; times are those of entering and leaving the `with` block, together. "exit" is how long
the process took to end after the last run. The backend is a thread of the parent process on loopback: live answers at
once, slow after half a second, dead refuses the connection.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

_SLOW_SECONDS = 0.5
_TRANSPORTS: dict[str, dict[str, Any]] = {
    "spool": {"type": "lineagelog.sdk.transport.SpoolTransport"},
    "spool, fsync": {"type": "lineagelog.sdk.transport.SpoolTransport", "fsync": True},
    "batch": {"type": "lineagelog.sdk.transport.BatchTransport"},
    "http": {"type": "http"},
    "the client alone": {"type": "http"},
}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seconds = 0.0

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(self.seconds)
        self.send_response(204)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


class _Slow(_Handler):
    seconds = _SLOW_SECONDS


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A child that ended while it was answered is no error here."""


def measured(runs: int, *, client_alone: bool) -> None:
    """In the child: run the jobs and print the times in seconds, and when the last one ended."""
    import logging

    logging.disable(logging.CRITICAL)
    from lineagelog.sdk import lineage_run, schema_facet

    fields = [(f"column_{number}", "VARCHAR(255)") for number in range(5)]
    if client_alone:
        from lineagelog.sdk.delivery import emitter

        emitter.is_quick = lambda _: True  # type: ignore[assignment]
    times = []
    with lineage_run("outer"):
        for _ in range(runs + 1):
            began = time.perf_counter()
            with lineage_run("job", inputs=["db/in"], outputs=[schema_facet("db/out", fields)]):
                pass
            times.append(time.perf_counter() - began)
            time.sleep(0.002)
    print(json.dumps({"times": times[1:], "ended": time.time()}), flush=True)


def one(name: str, url: str, runs: int) -> dict[str, float]:
    """Measure one transport against one address."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        inner = {"type": "http", "url": url}
        config = dict(_TRANSPORTS[name])
        config |= {"folder": f"{folder}/spool", "transport": inner} if "spool" in name else {"url": url}
        (Path(folder) / "openlineage.yml").write_text(json.dumps({"transport": config}))  # JSON is YAML
        command = [sys.executable, "-m", "benchmarks.sdk", "--measure", name, "--runs", str(runs)]
        root = Path(__file__).parents[1]
        environment = os.environ | {"OPENLINEAGE_CONFIG": f"{folder}/openlineage.yml"}
        child = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=True)
        ended = time.time()
        found = json.loads(child.stdout)
        times = sorted(found["times"])
        return {
            "median": statistics.median(times),
            "p95": times[int(len(times) * 0.95)],
            "max": times[-1],
            "exit": ended - found["ended"],
        }


def main() -> None:
    """Print one line per transport and backend."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measured(options.runs, client_alone=options.measure == "the client alone")
        return
    servers = {"live": _Server(("127.0.0.1", 0), _Handler), "slow": _Server(("127.0.0.1", 0), _Slow)}
    for server in servers.values():
        threading.Thread(target=server.serve_forever, daemon=True).start()
    closed = _Server(("127.0.0.1", 0), _Handler)
    closed.server_close()
    urls = {name: f"http://127.0.0.1:{server.server_port}" for name, server in (servers | {"dead": closed}).items()}
    print(f"{'transport':<18}{'backend':<9}{'median ms':>10}{'p95 ms':>10}{'max ms':>10}{'exit s':>8}")
    for name in _TRANSPORTS:
        for backend, url in urls.items():
            slow_client = name == "the client alone" and backend != "live"
            found = one(name, url, 2 if slow_client else options.runs)
            cells = "".join(f"{found[key] * 1000:>10.2f}" for key in ("median", "p95", "max"))
            print(f"{name:<18}{backend:<9}{cells}{found['exit']:>8.2f}", flush=True)
    for server in servers.values():
        server.shutdown()


if __name__ == "__main__":
    main()
