"""A purge and the targets that have not got everything; what is told of a gap; targets that are gone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text

from lineagelog.errors import StoreError
from lineagelog.store import LogStore
from lineagelog.store.definition.schema import sql
from lineagelog.store.ledgers.forwarding import START, Forwarding, Selection
from lineagelog.store.upkeep.purge import purge
from lineagelog.store.upkeep.unforwarded import Wish
from tests.cli.conftest import Ran, no_settings_of_the_machine, run
from tests.support import PATIENCE

from .conftest import count, event, store_all
from .receiver import Reply, receiving

if TYPE_CHECKING:
    from lineagelog.forward import Forwarder

    type Make = Callable[..., Forwarder]

__all__ = ["no_settings_of_the_machine", "run"]

type Run = Callable[..., Ran]

CUTOFF = datetime(2026, 3, 16, tzinfo=UTC)
OLD, NEW = "2026-01-10T00:00:00Z", "2026-04-14T23:00:00Z"
ALL = Wish(Selection(), from_beginning=True)


def store_old_and_new(log: LogStore, old: int, new: int = 1) -> None:
    store_all(log, [event(number, eventTime=OLD) for number in range(old)])
    store_all(log, [event(1000 + number, eventTime=NEW) for number in range(new)])


@pytest.fixture
def configure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Writes a settings file that commands read."""

    def write(content: str) -> None:
        (tmp_path / "lineagelog.toml").write_text(content)
        monkeypatch.setenv("LINEAGELOG_CONFIG", str(tmp_path / "lineagelog.toml"))

    return write


def floor(log: LogStore) -> datetime | None:
    with log.engine.connect() as connection:
        found: datetime | None = connection.execute(text("SELECT retention_floor FROM openlineage.ol_store")).scalar()
    return found


def test_purge_is_refused_with_a_count_per_target(
    log: LogStore, forwarding: Forwarding, forwarder: Make, run: Run, configure: Callable[[str], None]
) -> None:
    """Of one that has a part, one of the settings that has nothing, and not of one that has all or wants no past."""
    store_old_and_new(log, old=3)
    with receiving() as receiver:
        forwarder(receiver.url, name="behind").run()
        store_all(log, [event(number, eventTime=OLD) for number in range(10, 14)])
        forwarder(receiver.url, name="up_to_date").run()
        configure(
            '[forward.new]\nurl = "new.ndjson"\n[forward.later]\nurl = "later.ndjson"\nstart = "now"\n'
            '[forward.filtered]\nurl = "few.ndjson"\nnamespaces = ["elsewhere"]\n'
        )
    refused = run("store", "purge", "--older-than", "2026-03-16")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "were not forwarded: behind 4, new 7. " in refused.err
    assert "--even-unforwarded" in refused.err
    assert "forward forget TARGET" in refused.err
    assert (count(log), floor(log)) == (8, None)
    dry = run("store", "purge", "--older-than", "2026-03-16", "--dry-run", "--json")
    assert (dry.code, dry.json["unforwarded"], dry.json["events"]) == (0, {"behind": 4, "new": 7}, 7)
    assert "not forwarded: behind 4, new 7" in run("store", "purge", "--older-than", "2026-03-16", "--dry-run").out


def test_purge_goes_on_when_all_is_forwarded(log: LogStore, forwarder: Make) -> None:
    """What is newer than the cut-off may wait."""
    store_old_and_new(log, old=3)
    with receiving() as receiver:
        forwarder(receiver.url).run()
    store_all(log, [event(2000, eventTime=NEW)])
    assert purge(log, CUTOFF, wishes={"other": ALL}).events == 3


def test_even_unforwarded_leaves_a_gap_that_is_told(
    log: LogStore, forwarding: Forwarding, forwarder: Make, run: Run, configure: Callable[[str], None]
) -> None:
    """Status and figures show it, for a target with a cursor and for one without; the forward goes on behind it."""
    store_old_and_new(log, old=2)
    with receiving() as receiver:
        forwarder(receiver.url).run()
        store_all(log, [event(number, eventTime=OLD) for number in range(10, 14)])
        configure(f'[forward.new]\nurl = "{receiver.url}"\n')
        done = run("store", "purge", "--older-than", "2026-03-16", "--even-unforwarded")
        assert (done.code, "not forwarded: new 6, other 4" in done.out) == (0, True)
        again = purge(log, CUTOFF, wishes={"new": ALL}, even_unforwarded=True)
        assert (again.events, again.unforwarded) == (0, {})
        rows = {row["target"]: row for row in run("forward", "status", "--json").rows}
        assert {name: (row["gap"], row["state"]) for name, row in rows.items()} == {
            "new": (6, "never run"),
            "other": (4, "stopped"),
        }
        assert rows["new"]["gap_before"].startswith("2026-03-16T00:00:00")
        assert forwarder(receiver.url, name="new").run().delivered == 1
        assert forwarder(receiver.url).run().delivered == 0
    assert {row.target: row.gap for row in forwarding.cursors()} == {"new": 6, "other": 4}


def test_gaps_add_up(log: LogStore, forwarding: Forwarding) -> None:
    """Each purge that takes something adds to the gap; the latest cut-off is told."""
    later = datetime(2026, 5, 1, tzinfo=UTC)
    store_old_and_new(log, old=2, new=3)
    purge(log, CUTOFF, wishes={"new": ALL}, even_unforwarded=True)
    with pytest.raises(StoreError, match=r"were not forwarded: new 3\."):
        purge(log, later, wishes={"new": ALL})
    purge(log, later, wishes={"new": ALL}, even_unforwarded=True)
    (row,) = forwarding.cursors()
    assert (row.gap, row.gap_before, row.is_begun) == (5, later, False)


def test_ranges_owe_nothing(log: LogStore, forwarding: Forwarding, forwarder: Make, tmp_path: Path) -> None:
    """Who was sent a range, as an archive before a purge is, does not wait for the rest."""
    store_old_and_new(log, old=3)
    archive = str(tmp_path / "archive.ndjson")
    sent = forwarder(archive, name=archive).forward_range(None, CUTOFF)
    assert sent.delivered == 3
    (row,) = forwarding.cursors()
    assert (row.is_begun, row.file_size) == (False, (tmp_path / "archive.ndjson").stat().st_size)
    assert purge(log, CUTOFF).events == 3
    assert forwarder(archive, name=archive).run().delivered == 1
    (row,) = forwarding.cursors()
    assert row.is_begun


def test_parked_events_do_not_hold_a_purge_up(log: LogStore, forwarding: Forwarding, forwarder: Make) -> None:
    """The target was offered them and refused; they are listed until retried or skipped, and told as gone then."""
    store_old_and_new(log, old=2)
    with receiving(script=lambda _: Reply(422)) as receiver:
        assert forwarder(receiver.url).run().parked == 3
    assert purge(log, CUTOFF).events == 2


def test_events_that_slip_in_are_seen_under_the_lock(
    log: LogStore, forwarder: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An old event that is stored after the first look, before the floor moves: refused, and the floor stays."""
    store_old_and_new(log, old=2)
    with receiving() as receiver:
        forwarder(receiver.url).run()
    from lineagelog.store.upkeep.purge import _Purge

    run_it = _Purge.run

    def late(work: _Purge) -> object:
        store_all(log, [event(5000, eventTime=OLD)])
        return run_it(work)

    monkeypatch.setattr(_Purge, "run", late)
    with pytest.raises(StoreError, match=r"were not forwarded: other 1\."):
        purge(log, CUTOFF)
    assert (count(log), floor(log)) == (4, None)


def test_purge_beside_a_forwarder(log: LogStore, forwarding: Forwarding, forwarder: Make) -> None:
    """Whatever a purge says while a forward is at work: every event was sent before it went."""
    store_old_and_new(log, old=300)
    with receiving() as receiver:
        follower = forwarder(receiver.url, batch_size=10)
        thread = threading.Thread(target=follower.run)
        thread.start()
        refusals = 0
        while thread.is_alive():
            try:
                purge(log, CUTOFF, wishes={"other": ALL})
                break
            except StoreError:
                refusals += 1
        thread.join(PATIENCE)
        assert follower.sent.delivered == 301
        assert len(receiver.stored) == 301
        purge(log, CUTOFF, wishes={"other": ALL})
    assert count(log) == 1


def test_the_sql_statements_leave_what_is_owed(log: LogStore, forwarder: Make) -> None:
    """sql/purge.sql takes raw events that targets have; the others go the next time."""
    store_old_and_new(log, old=3)
    with receiving() as receiver:
        forwarder(receiver.url).run()
        store_all(log, [event(number, eventTime=OLD) for number in range(10, 14)])
        for expected in (5, 1):
            with log.engine.begin() as connection:
                for statement in log.schema.purge():
                    connection.execute(statement, {"cutoff": CUTOFF})
            assert count(log) == expected
            forwarder(receiver.url).run()
    assert len(receiver.stored) == 8
    assert "ol_forward_cursor" in sql(log.schema.purge()[1])


def test_restored_store_is_not_purged_blindly(log: LogStore, forwarding: Forwarding, forwarder: Make) -> None:
    """Before a rebase nobody knows what targets have got."""
    store_old_and_new(log, old=2)
    with receiving() as receiver:
        forwarder(receiver.url).run()
        with log.engine.begin() as connection:
            connection.execute(text("UPDATE openlineage.ol_event SET arrival_xid = '900000000'::xid8"))
        with pytest.raises(StoreError, match="forward rebase"):
            purge(log, CUTOFF)
        assert forwarding.rebase() == 3
        forwarder(receiver.url).run()
    assert purge(log, CUTOFF).events == 2


def test_rebase_leaves_what_was_not_begun(log: LogStore, forwarding: Forwarding) -> None:
    """A target that was only probed is one still."""
    store_old_and_new(log, old=2)
    forwarding.remember("probed", {"batches": True})
    forwarding.rebase()
    (row,) = forwarding.cursors()
    assert (row.is_begun, row.learnt) == (False, {"batches": True})


# --- forget ---------------------------------------------------------------------------------------------------------


@contextmanager
def busy(forwarding: Forwarding, target: str) -> Iterator[None]:
    with forwarding.lease(target) as lease:
        lease.begin(START)
        yield


def test_forget_a_target_that_is_gone(
    log: LogStore, forwarding: Forwarding, forwarder: Make, run: Run, configure: Callable[[str], None]
) -> None:
    """It asks for --yes, leaves a line in the log, takes the parked events with it, and a purge goes on."""
    store_old_and_new(log, old=2)
    with receiving(script=lambda r: Reply(422) if b'"run-1"' in r.body else None) as receiver:
        forwarder(receiver.url, name="gone").run()
        forwarder(receiver.url, name="stays").run()
    store_all(log, [event(number, eventTime=OLD) for number in range(10, 14)])
    configure("")
    refused = run("forward", "forget", "gone")
    assert (refused.code, "say --yes" in refused.err, len(forwarding.cursors())) == (2, True, 2)
    done = run("forward", "forget", "gone", "--yes")
    assert (done.code, done.out) == (0, "forgotten: gone, with 4 events not sent and 1 parked\n")
    assert "target forgotten" in done.err
    assert "forward forget" in done.err
    assert [row.target for row in forwarding.cursors()] == ["stays"]
    assert {letter.target for letter in forwarding.letters(None, None)} == {"stays"}
    unknown = run("forward", "forget", "gone", "--yes")
    assert (unknown.code, "nothing is known of a target 'gone'" in unknown.err) == (2, True)
    with pytest.raises(StoreError, match=r"were not forwarded: stays 4\."):
        purge(log, CUTOFF)


def test_forget_says_that_a_section_is_left(
    log: LogStore, forwarding: Forwarding, run: Run, configure: Callable[[str], None]
) -> None:
    """It would begin anew; and what a process forwards to now is not forgotten."""
    configure('[forward.there]\nurl = "there.ndjson"\n')
    with busy(forwarding, "there"):
        assert "another process forwards to 'there'" in run("forward", "forget", "there", "--yes").err
    assert "still have a section [forward.there]" in run("forward", "forget", "there", "--yes").out
    assert forwarding.cursors() == []


def test_forget_an_url_with_a_secret(log: LogStore, forwarding: Forwarding, forwarder: Make, run: Run) -> None:
    """Targets without a section are known by their URL with the secret masked; either spelling names them."""
    store_old_and_new(log, old=1)
    with receiving() as receiver:
        url = receiver.url.replace("http://", "http://u:hunter2@")
        assert run("forward", url).code == 0
        (row,) = forwarding.cursors()
        assert "hunter2" not in row.target
        done = run("forward", "forget", url, "--yes")
    assert (done.code, "hunter2" in done.out + done.err) == (0, False)
    assert forwarding.cursors() == []


def test_case_41(log: LogStore, forwarding: Forwarding, run: Run, configure: Callable[[str], None]) -> None:
    """Exit code 2, delivered 0, the cursor where it was, and the line says what came; a purge takes nothing."""
    store_old_and_new(log, old=4, new=0)
    html = {"Content-Type": "text/html"}
    with receiving(script=lambda _: Reply(200, b"<!doctype html><title>Sign in</title>", html)) as receiver:
        configure(f'[forward.portal]\nurl = "{receiver.url}"\n')
        done = run("forward", "portal")
    assert done.code == 2
    assert done.err.splitlines()[-1].startswith("lineagelog: portal: HTTP 200 with text/html is no answer of an Open")
    (row,) = forwarding.cursors()
    assert (row.delivered, row.position, row.parked) == (0, START, 0)
    assert "not forwarded: portal 4. " in run("store", "purge", "--older-than", "2026-03-16").err
