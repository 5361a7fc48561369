"""A transaction that is paused, by whatever its owner does, holds up nobody else: not writers of the same job."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from lineagelog.event.parse import parse
from tests.support import PATIENCE, encode, event, join

if TYPE_CHECKING:
    import psycopg

    from lineagelog.store import LogStore
    from lineagelog.store.append.log import Appended

SCHEMA = {"schema": {"fields": [{"name": "a", "type": "int"}]}}
LINEAGE = {"columnLineage": {"fields": {"a": {"inputFields": [{"namespace": "db", "name": "raw", "field": "a"}]}}}}
SYMLINK = {"symlinks": {"identifiers": [{"namespace": "hive", "name": "t", "type": "TABLE"}]}}


def told(run_id: str, second: int) -> Any:
    """An event of the one job and the one dataset that all runs share, with all that the digest keeps once."""
    output = {"namespace": "db", "name": "t", "facets": SCHEMA | LINEAGE | SYMLINK}
    job = {"namespace": "tests", "name": "job", "facets": {"documentation": {"description": f"as of {second}"}}}
    time = f"2026-03-01T08:00:{second:02}Z"
    return parse(encode(event(run_id, eventTime=time, job=job, outputs=[output])).strip())


def test_writers_of_one_job_do_not_wait_for_a_paused_transaction(store: LogStore) -> None:
    """One stops with its events inserted; others go on with the same job, dataset, names, contents, dead letter."""
    paused, release, done = threading.Event(), threading.Event(), []
    poison = parse(b"no event")

    def pause(_: psycopg.Connection[Any]) -> None:
        paused.set()
        assert release.wait(PATIENCE)

    def append(items: list[Any], **options: Any) -> None:
        found: Appended = store.append(items, **options)
        done.append(found.stored)

    slow = threading.Thread(target=append, args=([told("slow", 1), poison],), kwargs={"in_transaction": pause})
    slow.start()
    try:
        assert paused.wait(PATIENCE)
        others = [
            threading.Thread(target=append, args=([told("single", 2), poison],)),
            threading.Thread(target=append, args=([*(told(f"copied-{n}", 3) for n in range(150)), poison],)),
        ]
        for other in others:
            other.start()
        join(*others)
        assert sorted(done) == [1, 150]
    finally:
        release.set()
    join(slow)
    with store.engine.connect() as connection:
        row = connection.exec_driver_sql(
            "SELECT first_seen::text, last_seen::text, description FROM openlineage.ol_job"
        ).one()
        letters = connection.exec_driver_sql("SELECT count FROM openlineage.ol_dead_letter").scalars().all()
    assert tuple(row) == ("2026-03-01 08:00:01+00", "2026-03-01 08:00:03+00", "as of 3")
    assert letters == [3]
