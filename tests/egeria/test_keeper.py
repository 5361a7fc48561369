"""The keeper: an event is stored, or on the disk and stored later; nothing is lost, nobody waits for ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from lineagelog.egeria.keeper import Keeper
from lineagelog.errors import PartitionMissing, SettingsError, StoreError, StoreReadOnly, StoreTooOld
from lineagelog.event.model import Rejected
from lineagelog.event.parse import parse
from lineagelog.intake import Door
from lineagelog.postgres.embedded import EmbeddedPostgres
from lineagelog.spool import Spool
from lineagelog.store import Database, LogStore, open_engine
from tests.support import EXAMPLES, PATIENCE, connect, wait_until

from .stubs import AWAY, Kept, body


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    made = Kept(tmp_path / "spool")
    yield made
    made.close()


# --- a real database --------------------------------------------------------------------------------------------------


def real_keeper(url: str, folder: Path, *, wait: float) -> tuple[Keeper, LogStore]:
    store = LogStore(Database(open_engine(url, pool_size=3, connect_timeout=3)))

    def ensure() -> None:
        store.create()

    keeper = Keeper(Door(store), Spool(folder, fsync=True), ensure, wait=wait, name="c")
    keeper.open()
    return keeper, store


@pytest.mark.long
def test_a_database_that_goes_and_comes_back(
    own_postgres: EmbeddedPostgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first event waits the set time, the next ones do not; all are stored when the database is back, and a
    refused one is a dead letter like any other."""
    keeper, store = real_keeper(own_postgres.url, tmp_path / "spool", wait=PATIENCE)
    assert keeper.take([body(0)]) == {}
    monkeypatch.setattr(keeper, "_wait", 1.0)
    own_postgres.release()
    begin = time.monotonic()
    assert keeper.take([body(1), b"no event"]) == {}
    waited = time.monotonic() - begin
    assert waited > 0.9
    monkeypatch.setattr(keeper, "_wait", 10 * PATIENCE)  # which the next ones do not wait
    for number in range(2, 12):
        assert keeper.take([body(number)]) == {}
    assert keeper.database().startswith("away: the database cannot be reached")
    assert keeper.metrics.as_dict()["spooled"] == 12
    own_postgres.start()
    wait_until(lambda: keeper.database() == "up")
    assert keeper.take([body(12)]) == {}
    with connect(own_postgres.url) as connection:
        assert connection.execute("SELECT count(*) FROM openlineage.ol_event").fetchone() == (13,)
        letter = "SELECT source, position, payload FROM openlineage.ol_dead_letter"
        assert connection.execute(letter).fetchall() == [("egeria", "c", b"no event")]
    assert {key: keeper.metrics.as_dict()[key] for key in ("stored", "dead", "spooled")} == {
        "stored": 13,
        "dead": 1,
        "spooled": 0,
    }
    assert keeper.close(PATIENCE)
    store.engine.dispose()


@pytest.mark.long
def test_a_start_without_a_database(own_postgres: EmbeddedPostgres, tmp_path: Path) -> None:
    """The connector starts, spools, and makes the tables when the database comes."""
    own_postgres.release()
    keeper, store = real_keeper(own_postgres.url, tmp_path / "spool", wait=10 * PATIENCE)
    assert keeper.take([body(1)]) == {}  # at once
    own_postgres.start()
    wait_until(lambda: keeper.metrics.as_dict()["stored"] == 1)
    assert keeper.close(PATIENCE)
    store.engine.dispose()


# --- waiting and spooling ---------------------------------------------------------------------------------------------


def test_a_short_absence_is_waited_out(kept: Kept) -> None:
    """Within the set time the same event is tried again and nothing is spooled."""
    keeper = kept.keeper(wait=PATIENCE)
    old = StoreTooOld("the store has version 1")
    kept.door.troubles = [AWAY, StoreReadOnly("the database refuses writes: standby"), old, None]
    assert keeper.take([body(1)]) == {}
    assert (kept.door.taken, kept.spooled, keeper.database()) == ([body(1)], [], "up")


def test_a_stop_does_not_wait_for_the_database(kept: Kept) -> None:
    """hurry() ends the wait: the event is spooled at once."""
    keeper = kept.keeper(wait=10 * PATIENCE)
    kept.door.store.trouble = AWAY
    threading.Timer(0.3, keeper.hurry).start()
    assert keeper.take([body(1)]) == {}
    assert kept.spooled == [body(1)]


def test_a_second_start_drains_what_the_first_left(kept: Kept) -> None:
    """The metrics say how much there is before it is stored."""
    first = kept.keeper()
    kept.door.store.trouble = AWAY
    assert first.take([body(1), body(2)]) == first.take([body(3)]) == {}
    assert first.close(PATIENCE)
    with capture_logs() as logs:
        second = kept.keeper()
    assert [line["events"] for line in logs if line["event"] == "events of an earlier run are in the spool"] == [3]
    assert (second.metrics.as_dict()["spooled"], second.database()) == (3, f"away: {AWAY}")
    kept.door.store.trouble = None
    wait_until(lambda: second.database() == "up")
    assert sorted(kept.door.taken) == [body(1), body(2), body(3)]
    assert second.metrics.as_dict()["spooled"] == 0


def test_a_full_spool_refuses_with_a_clear_text(kept: Kept) -> None:
    """What fits is kept; for the rest the sender is told why, and only for those."""
    keeper = kept.keeper(max_bytes=len(body(1)) * 4)
    kept.door.store.trouble = AWAY
    failures = keeper.take([body(number) for number in range(1, 8)])
    assert 0 < len(failures) < 7
    assert len(kept.spooled) == 7 - len(failures)
    assert not {body(index + 1) for index in failures} & set(kept.spooled)
    for text in failures.values():
        assert text.startswith(f"the event is not kept: the database is away ({AWAY}), and the spool ")
        assert text.endswith(f" is full: {len(body(1)) * 4} bytes")
    assert keeper.metrics.as_dict()["failed"] == len(failures)


def test_a_disk_that_refuses_is_told(kept: Kept) -> None:
    """The folder is gone: every event of the batch fails with the operating system's words."""
    keeper = kept.keeper()
    kept.door.store.trouble = AWAY
    assert keeper.take([body(0)]) == {}
    for file in kept.folder.iterdir():
        file.unlink()
    kept.folder.rmdir()
    kept.folder.write_text("")
    keeper._spool.close()
    assert [("cannot be used" in text) for text in keeper.take([body(1), body(2)]).values()] == [True, True]
    kept.folder.unlink()
    kept.folder.mkdir()


def test_a_spool_that_cannot_be_used_does_not_keep_the_database_away(kept: Kept) -> None:
    """The disk of the spool fails while the database is away: events are refused then, and stored when it is back."""
    keeper = kept.keeper()
    for lock in ("append.lock", "drain.lock"):
        (kept.folder / lock).unlink(missing_ok=True)
        (kept.folder / lock).mkdir()
    kept.door.store.trouble = AWAY
    assert list(keeper.take([body(1)])) == [0]
    kept.door.store.trouble = None
    wait_until(lambda: keeper.database() == "up")
    assert (keeper.take([body(2)]), kept.door.taken) == ({}, [body(2)])


def test_a_full_spool_is_drained_though_its_first_event_is_refused(kept: Kept) -> None:
    """There is no room to set the event aside again: it goes to the end all the same, before its place is given up."""
    keeper = kept.keeper(max_bytes=len(body(1)) * 6)
    kept.door.store.trouble = AWAY
    number = 0
    while keeper.take([body(number)]) == {}:
        number += 1
    kept.door.refused = {body(0): StoreError("odd")}
    kept.door.store.trouble = None
    wait_until(lambda: keeper.database() == "up")
    wait_until(lambda: sorted(set(kept.door.taken)) == [body(each) for each in range(1, number)])
    wait_until(lambda: kept.spooled == [body(0)])


def test_a_database_that_hangs_does_not_hold_up_a_start(kept: Kept) -> None:
    """Egeria never tries a start again: after a while it is one without the database, and nobody who asks hangs."""
    hang = threading.Event()
    kept.door.store.check_version = hang.wait  # type: ignore[assignment]
    spool = Spool(kept.folder, fsync=True)
    keeper = Keeper(kept.door, spool, lambda: None, wait=0.0, name="c")  # type: ignore[arg-type]
    kept.keepers.append(keeper)
    keeper.open(first_look=0.1)
    assert (keeper.database(), keeper.take([body(1)]), kept.spooled) == ("away: it does not answer", {}, [body(1)])
    hang.set()
    wait_until(lambda: keeper.database() == "up")
    assert kept.door.taken == [body(1)]


def test_a_database_that_hangs_later_is_said_to(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """The question has an end, and is not asked again by another thread as long as it hangs."""
    monkeypatch.setattr("lineagelog.egeria.keeper._ANSWER_SECONDS", 0.05)
    keeper = kept.keeper()
    hang = threading.Event()
    kept.door.store.check_version = hang.wait  # type: ignore[assignment]
    assert {keeper.database() for _ in range(5)} == {"away: it does not answer"}
    assert [each.name for each in threading.enumerate()].count("lineagelog-ask-c") == 1
    hang.set()
    wait_until(lambda: keeper.database() == "up")


def test_refusals_are_told_once_in_a_while(kept: Kept) -> None:
    """One line of the log, not one for each event; the metrics have all."""
    keeper = kept.keeper(max_bytes=1)
    kept.door.store.trouble = AWAY
    with capture_logs() as logs:
        for number in range(20):
            assert list(keeper.take([body(number)])) == [0]
    assert [line["events"] for line in logs if line["event"] == "events refused"] == [1]
    assert keeper.metrics.as_dict()["failed"] == 20


def test_an_array_is_its_events(kept: Kept) -> None:
    """Each is stored and counted by itself; nothing of an empty one, and a broken one is one event."""
    keeper = kept.keeper()
    assert keeper.take([b"[%s, %s]" % (body(1), body(2)), b"[]", b"[{", body(3)]) == {}
    assert kept.door.taken == [body(1), body(2), b"[{", body(3)]
    assert keeper.take([b" []\n"]) == {}
    assert keeper.metrics.as_dict()["stored"] == 4


# --- being replaced ---------------------------------------------------------------------------------------------------


def gone(keeper: Keeper) -> bool:
    return keeper._drainer is not None and not keeper._drainer.is_alive()


def test_a_retired_keeper_stores_what_it_has_and_gives_all_back(kept: Kept) -> None:
    """However long the database is away, and also what a batch under way leaves in the spool."""
    released: list[bool] = []
    spool = Spool(kept.folder, fsync=True)
    keeper = Keeper(kept.door, spool, lambda: None, wait=0, name="c", release=lambda: released.append(True))  # type: ignore[arg-type]
    kept.keepers.append(keeper)
    keeper.open()
    kept.door.store.trouble = AWAY
    assert keeper.take([body(1)]) == {}
    kept.door.hang = threading.Event()
    under_way = threading.Thread(target=keeper._take, args=([body(2)],))
    with keeper._entered():
        under_way.start()
        keeper.retire()
        kept.door.hang.set()
        under_way.join()
        assert sorted(kept.spooled) == [body(1), body(2)]
        kept.door.store.trouble = None
        wait_until(lambda: sorted(set(kept.door.taken)) == [body(1), body(2)])
        assert (gone(keeper), released) == (False, [])
    wait_until(lambda: gone(keeper))
    assert (released, kept.spooled) == ([True], [])


def test_a_retired_keeper_leaves_a_spool_that_another_drains(kept: Kept) -> None:
    """Its successor for the same destination: nothing is lost, and the first need not wait for it."""
    kept.door.store.trouble = AWAY
    first = kept.keeper()
    assert first.take([body(1)]) == {}
    second = kept.keeper()
    first.retire(handed_over=True)
    wait_until(lambda: gone(first))
    kept.door.store.trouble = None
    wait_until(lambda: kept.door.taken == [body(1)])
    assert not gone(second)


def test_a_retired_keeper_does_not_wait_for_what_the_store_never_takes(kept: Kept) -> None:
    """It stays in the spool for the next start."""
    keeper = kept.keeper()
    kept.door.refused = {body(1): StoreError("odd")}
    assert keeper.take([body(1)]) == {}
    keeper.retire()
    wait_until(lambda: gone(keeper))
    assert kept.spooled == [body(1)]


def test_what_another_leaves_in_the_spool_is_found(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody wakes the drainer: it looks by itself."""
    monkeypatch.setattr("lineagelog.egeria.keeper._LOOK_SECONDS", 0.05)
    kept.keeper()
    Spool(kept.folder).append(msgspec.msgpack.encode([body(1)]))
    wait_until(lambda: kept.door.taken == [body(1)])


# --- the trouble of single events -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "trouble",
    [
        PartitionMissing("the database refuses writes: 1970-01 has no partition"),
        StoreError("something odd"),
        TypeError("a defect, with the event's secret in its text"),
    ],
)
def test_one_events_trouble_is_not_the_others(kept: Kept, trouble: Exception) -> None:
    """It is set aside in the spool and stored when that goes; the others are stored at once, and so is what follows."""
    keeper = kept.keeper(wait=60)
    kept.door.refused = {body(2): trouble}
    with capture_logs() as logs:
        assert keeper.take([body(1), body(2), body(3)]) == {}
        assert keeper.take([body(2)]) == {}
        assert keeper.take([body(4)]) == {}
    assert kept.door.taken == [body(1), body(3), body(4)]
    assert keeper.database() == "up"
    wait_until(lambda: keeper.metrics.as_dict()["spooled"] == 2)
    assert "secret" not in str(logs)
    kept.door.refused = {}
    assert keeper.close(PATIENCE)
    again = kept.keeper()
    wait_until(lambda: again.metrics.as_dict()["spooled"] == 0)
    assert sorted(set(kept.door.taken)) == [body(1), body(2), body(3), body(4)]


def test_an_event_set_aside_does_not_hold_up_the_spool(kept: Kept) -> None:
    """What lies behind it in the spool is stored; it stays."""
    keeper = kept.keeper()
    kept.door.store.trouble = AWAY
    for number in range(1, 5):
        assert keeper.take([body(number)]) == {}
    kept.door.refused = {body(1): StoreError("odd")}
    kept.door.store.trouble = None
    wait_until(lambda: len(kept.door.taken) == 3)
    wait_until(lambda: keeper.database() == "up")
    assert (sorted(kept.door.taken), keeper.metrics.as_dict()["spooled"]) == ([body(2), body(3), body(4)], 1)
    assert keeper.take([body(5)]) == {}
    assert kept.door.taken[-1] == body(5)


def test_a_record_that_is_none_of_ours_becomes_a_dead_letter(kept: Kept) -> None:
    """Drained as one event, whose parsing says what is wrong."""
    Spool(kept.folder).append(b"\xc1 something else")
    keeper = kept.keeper()
    wait_until(lambda: keeper.metrics.as_dict()["spooled"] == 0)
    (taken,) = kept.door.taken
    assert (taken, isinstance(parse(taken), Rejected)) == (b"\xc1 something else", True)


def test_a_database_that_can_never_hold_a_store_fails_the_start(kept: Kept) -> None:
    """A setting is wrong: the operator is told at once, nothing is spooled meanwhile."""
    kept.door.store.trouble = SettingsError("the database has the encoding LATIN1")
    with pytest.raises(SettingsError, match="LATIN1"):
        kept.keeper()
    kept.keepers.clear()


@settings(max_examples=EXAMPLES * 2)
@given(
    script=st.lists(st.sampled_from((None, AWAY, StoreError("odd"), StoreReadOnly("full"))), max_size=12),
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=6),
    data=st.data(),
)
def test_nothing_is_lost_whatever_fails(
    tmp_path_factory: pytest.TempPathFactory, script: list[Any], sizes: list[int], data: st.DataObject
) -> None:
    """Any sequence of failures, of live attempts and of draining: at the end of a healthy run every event that was
    taken is stored."""
    kept = Kept(tmp_path_factory.mktemp("spool"))
    kept.door.troubles = list(script)
    keeper = kept.keeper()
    sent: set[bytes] = set()
    for size in sizes:
        bodies = [body(len(sent) + number) for number in range(size)]
        assert keeper.take(bodies) == {}
        sent |= set(bodies)
        if data.draw(st.booleans()):
            assert keeper.close(PATIENCE)
            keeper = kept.keeper()
    kept.close()
    kept.door.troubles = []
    last = kept.keeper()
    wait_until(lambda: sent <= set(kept.door.taken))
    wait_until(lambda: last.metrics.as_dict()["spooled"] == 0)
    kept.close()
