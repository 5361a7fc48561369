"""A program that appends events until it is killed, and says what is acknowledged: it is given a URL and a number."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta

from lineagelog.errors import StoreUnavailable
from lineagelog.event.parse import parse
from lineagelog.store import Database, LogStore, open_engine


def event(number: int, **members: object) -> bytes:
    tree = {
        "eventType": ("START", "COMPLETE")[number % 2],
        "eventTime": (datetime(2026, 3, 1, tzinfo=UTC) + timedelta(seconds=number)).isoformat(),
        "run": {"runId": f"run-{number // 2}"},
        "job": {"namespace": "prod", "name": f"job-{number % 7}"},
        "outputs": [{"namespace": "db", "name": "t", "outputFacets": {"outputStatistics": {"rowCount": number}}}],
    }
    return json.dumps(tree | members).encode()


def main(url: str, number: int) -> None:
    """Append batches of growing size from the event of that number on; each line is the first number not stored."""
    store, size = LogStore(Database(open_engine(url, pool_size=1))), 1
    while True:
        try:
            store.append([parse(event(each)) for each in range(number, number + size)])
        except StoreUnavailable:
            continue
        sys.stdout.write(f"{number + size}\n")
        sys.stdout.flush()
        number, size = number + size, size % 150 + 37


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
