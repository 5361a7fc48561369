"""A server in a process of its own, for tests that kill or measure it: python -m tests.server.serving URL."""

from __future__ import annotations

import sys

from lineagelog.read import Reader
from lineagelog.server import create_app, run_server
from lineagelog.store import Database, LogStore, open_engine


def announce(url: str) -> None:
    """Tell the test where to send to."""
    sys.stdout.write(f"ready {url}\n")
    sys.stdout.flush()


def main() -> None:
    """Serve the store of the database until a signal comes; say the URL when ready."""
    store = LogStore(Database(open_engine(sys.argv[1], connect_timeout=3)))
    app = create_app(store, reader=Reader(store.database))
    run_server(app, port=0, stop_seconds=20, on_ready=announce)


if __name__ == "__main__":
    main()
