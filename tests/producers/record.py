"""Renews the recordings: `python -m tests.producers.record [NAME…]`, which is what `make producers` runs.

Each scenario sends to a real `lineagelog serve` and, at once, to a file. The file is kept only when the server's store
holds exactly the same events: what is recorded is what a server gets.
"""

from __future__ import annotations

import getpass
import shutil
import socket
import sys
from datetime import UTC, datetime
from pathlib import Path

from tests.support import PATIENCE, run_process, serve_process

from . import environments
from .neutral import Machine
from .scenarios import SCENARIOS, Workplace

RECORDINGS = environments.HERE / "recordings"


def record(name: str) -> int:
    """Run a scenario and write its recording; gives the number of events."""
    folder = environments.FOLDER / "runs" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    folder.parent.parent.chmod(0o755)
    today = datetime.now(UTC).date()
    store = ("--data-dir", str(folder / "store"))
    with serve_process(*store) as (server, port, _):
        place = Workplace(folder, f"http://127.0.0.1:{port}")
        SCENARIOS[name](place)
        again = run_process("load", "--json", str(place.file), *store)
        server.terminate()  # else its PostgreSQL outlives it, and takes the socket of the next one in this folder along
        server.wait(PATIENCE)
    sent = place.file.read_text().splitlines()
    assert again.code == 0, again
    assert again.json["duplicate"] == len(sent), ("server and file were told different things", again)
    lines = _machine(folder, today).neutral(name, sent)
    (RECORDINGS / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    return len(lines)


def _machine(folder: Path, today: datetime.date) -> Machine:
    home = environments.FOLDER / "environments"
    host = socket.gethostname()
    addresses = {entry[4][0] for entry in socket.getaddrinfo(host, None)} - {"127.0.0.1", "::1"}
    return Machine(
        folders={str(folder): "/srv/nests", str(home): "/opt", sys.base_prefix: "/usr", str(Path.home()): "/home/ann"},
        words={host: "nests.example"} | dict.fromkeys(addresses, "192.0.2.10"),
        user=getpass.getuser(),
        recorded=today,
    )


def main(*names: str) -> None:
    """Record what is named, or everything, and say how much it is."""
    for name in names or SCENARIOS:
        sys.stdout.write(f"{name}: {record(name)} events\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
