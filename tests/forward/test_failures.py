"""Whatever goes wrong, every event is delivered or listed as parked."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text

from lineagelog.errors import StoreUnavailable, TargetUnavailable
from lineagelog.store import LogStore
from lineagelog.store.ledgers.forwarding import Forwarding
from tests.support import PATIENCE, wait_until

from .conftest import contents, count, event, following, store_all
from .receiver import Reply, Request, receiving

if TYPE_CHECKING:
    from lineagelog.forward import Forwarder

    type Make = Callable[..., Forwarder]

ROOT = Path(__file__).parents[2]


def misbehave(seed: int, *, refuse: bool = True) -> Callable[[Request], Reply | None]:
    """A receiver at its worst: busy, broken, cut off before or after it stored, and refusing for no reason."""
    chance = random.Random(seed)
    kinds: list[Reply | None] = [None] * 6 + [
        Reply(429, headers={"Retry-After": "0"}),
        Reply(500),
        Reply(503),
        Reply(0),
    ]
    if refuse:
        kinds.append(Reply(400, b"not today"))
    dealt: list[Reply | None] = []

    def deal(_: Request) -> Reply | None:
        """Each once among as many requests as there are."""
        if not dealt:
            dealt.extend(chance.sample(kinds, len(kinds)))
        return dealt.pop()

    return deal


@pytest.mark.long
@pytest.mark.parametrize("batch", ["auto", "never"])
def test_random_failures(log: LogStore, other: LogStore, forwarding: Forwarding, forwarder: Make, batch: str) -> None:
    """429, 500, 503, 400 and cut connections at random: all arrive once, but for the parked, which arrive on retry."""
    store_all(log, [event(number) for number in range(300)])
    with receiving(other, misbehave(3)) as receiver:
        sent = forwarder(receiver.url, batch=batch, batch_size=20, attempts=0).run()
        parked = list(forwarding.letters("other"))
        assert sent.delivered + sent.parked == 300
        assert len(parked) == sent.parked
        assert parked or batch == "auto"  # a batch that is refused is sent in parts, and these may be taken
        assert {letter.status for letter in parked} <= {400}
        assert count(other) == 300 - len(parked)
        receiver.script = lambda _: None
        counts = forwarder(receiver.url).retry([letter.id for letter in parked])
    assert counts == {"delivered": len(parked), "parked": 0, "gone": 0}
    assert list(forwarding.letters("other")) == []
    assert contents(other)["ol_run"] == contents(log)["ol_run"]
    assert count(other) == 300


def test_stored_but_not_acknowledged_is_sent_again_and_kept_once(
    log: LogStore, other: LogStore, forwarder: Make
) -> None:
    """The answer to a stored batch is lost: the batch comes again and the receiver's key makes it once."""
    store_all(log, [event(number) for number in range(10)])
    with receiving(other) as receiver:
        lose = [True]

        def store_and_cut(request: Request) -> Reply | None:
            if lose and lose.pop():
                receiver._take(request)
                return Reply(0)
            return None

        receiver.script = store_and_cut
        assert forwarder(receiver.url, in_flight=1).run().delivered == 10
    assert receiver.duplicates == 10
    assert count(other) == 10


def test_target_that_is_killed_and_comes_back(log: LogStore, other: LogStore, forwarder: Make) -> None:
    """A follower waits for a target that is down, says so in the status, and goes on when it is back."""
    store_all(log, [event(number) for number in range(5)])
    with ExitStack() as stack:
        with receiving(other) as receiver:
            port = int(receiver.url.split(":")[2].split("/")[0])
            follower = forwarder(receiver.url)
            stack.enter_context(following(follower))
            wait_until(lambda: follower.sent.delivered == 5)
        store_all(log, [event(number) for number in range(5, 10)])
        wait_until(lambda: follower.sent.problem is not None)
        assert "other: " in (follower.sent.problem or "")
        with receiving(other, port=port):
            wait_until(lambda: follower.sent.delivered == 10)
    assert count(other) == 10


def test_status_shows_the_problem_until_it_is_over(log: LogStore, forwarding: Forwarding, forwarder: Make) -> None:
    """And how far behind the target is."""
    store_all(log, [event(1), event(2)])
    with receiving(script=lambda _: Reply(503, b"down for maintenance")) as receiver:
        with pytest.raises(TargetUnavailable, match="other: HTTP 503: down for maintenance"):
            forwarder(receiver.url, give_up=0.2).run()
        (row,) = forwarding.cursors()
        assert row.problem == "other: HTTP 503: down for maintenance"
        lag = forwarding.lag(row.position)
        assert (lag.events, lag.held_back) == (2, 0)
        assert lag.oldest is not None
        receiver.script = lambda _: None
        forwarder(receiver.url).run()
    (row,) = forwarding.cursors()
    assert (row.problem, row.delivered, forwarding.lag(row.position).events) == (None, 2, 0)


@pytest.mark.parametrize("status", [401, 403, 404])
def test_refused_as_a_client_parks_nothing(log: LogStore, forwarding: Forwarding, forwarder: Make, status: int) -> None:
    """A wrong token or URL says nothing against the events: the forward ends at once and the cursor stays."""
    store_all(log, [event(1)])
    with receiving(script=lambda _: Reply(status)) as receiver:
        with pytest.raises(TargetUnavailable, match=f"HTTP {status}"):
            forwarder(receiver.url, give_up=10 * PATIENCE).run()
        receiver.script = lambda _: None
        assert forwarder(receiver.url).run().delivered == 1
    assert list(forwarding.letters(None, None)) == []


def test_event_the_target_breaks_down_on_does_not_block_the_others(
    log: LogStore, other: LogStore, forwarding: Forwarding, forwarder: Make
) -> None:
    """A batch that always fails with 500 is halved until the one event is found; it is parked as failing."""
    store_all(log, [event(number) for number in range(20)])
    with receiving(other, lambda request: Reply(500, b"NPE") if b'"run-13"' in request.body else None) as receiver:
        sent = forwarder(receiver.url, attempts=3).run()
    (letter,) = forwarding.letters("other")
    assert (letter.run_id, letter.reason, letter.status, letter.detail) == (
        "run-13",
        "failing",
        500,
        "failed 3 times: HTTP 500: NPE",
    )
    assert (sent.delivered, sent.parked, count(other)) == (19, 1, 19)


def test_batch_with_refused_members(log: LogStore, forwarding: Forwarding, forwarder: Make) -> None:
    """The answer of the specification's batch endpoint: refused members are parked, retriable ones sent again."""
    store_all(log, [event(number) for number in range(4)])
    first = [
        {"index": 1, "reason": "schema", "message": "no job facet", "retriable": False},
        {"index": 2, "reason": "busy", "retriable": True},
    ]
    answers = [Reply(200, json.dumps({"status": "partial_success", "failed_events": first}).encode())]
    with receiving(script=lambda _: answers.pop() if answers else None) as receiver:
        sent = forwarder(receiver.url, in_flight=1, batch="array").run()
    (letter,) = forwarding.letters("other")
    assert (sent.delivered, sent.parked, sent.retries) == (3, 1, 1)
    assert (letter.run_id, letter.detail) == ("run-1", "schema: no job facet")
    assert [len(request.events) for request in receiver.requests] == [4, 1]


def test_retry_after_is_heeded(log: LogStore, forwarder: Make) -> None:
    """A busy target is left alone for as long as it asks, by all lanes."""
    store_all(log, [event(number) for number in range(40)])
    busy = [Reply(429, headers={"Retry-After": "1"})]
    moments: list[float] = []

    def script(_: Request) -> Reply | None:
        moments.append(time.monotonic())
        return busy.pop() if busy else None

    with receiving(script=script) as receiver:
        forwarder(receiver.url, batch="never", in_flight=1).run()
    assert moments[1] - moments[0] >= 1.0


def test_parked_events_can_be_skipped_and_outlive_the_event(
    log: LogStore, forwarding: Forwarding, forwarder: Make
) -> None:
    """Skipped ones are not listed any more; one whose event was purged is told as gone."""
    store_all(log, [event(1), event(2)])
    with receiving(script=lambda _: Reply(422, b"password=hunter2 is wrong")) as receiver:
        forwarder(receiver.url).run()
        first, second = forwarding.letters("other")
        assert first.detail == "HTTP 422: password=*** is wrong"
        assert forwarder(receiver.url).retry([first.id]) == {"delivered": 0, "parked": 1, "gone": 0}
        assert forwarding.mark_letters([first.id], "skipped") == 1
        with log.engine.begin() as connection:
            connection.execute(text("DELETE FROM openlineage.ol_event"))
        assert forwarder(receiver.url).retry([second.id]) == {"delivered": 0, "parked": 0, "gone": 1}
    assert [(letter.state, letter.count) for letter in forwarding.letters("other", None)] == [
        ("skipped", 2),
        ("gone", 1),
    ]


def test_lost_database_session_ends_a_run_and_a_follower_comes_back(
    log: LogStore, other: LogStore, forwarder: Make
) -> None:
    """Who has lost the lock cannot save: a run ends with an error, a follower takes its turn again."""
    store_all(log, [event(number) for number in range(10)])
    with receiving(other) as receiver:

        def end_sessions(_: Request) -> None:
            with log.engine.connect() as connection:
                connection.execute(
                    text(
                        "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted "
                        "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
                        "AND pid <> pg_backend_pid()"
                    )
                )

        receiver.script = end_sessions
        with pytest.raises(StoreUnavailable):
            forwarder(receiver.url).run()
        receiver.script = lambda _: None
        follower = forwarder(receiver.url)
        with following(follower):
            wait_until(lambda: follower.sent.delivered == 10)
    assert count(other) == 10


FORWARD = """
import sys
from lineagelog.forward import Forwarder, open_sender
from lineagelog.store import Database, open_engine
from lineagelog.store.ledgers.forwarding import Forwarding
from tests.forward.conftest import quick_target
print("ready", flush=True)
Forwarder(Forwarding(Database(open_engine(sys.argv[1]))), quick_target(sys.argv[2], batch_size=5), open_sender).follow()
"""


@pytest.mark.long
def test_killed_forwarder_goes_on_where_it_was(
    log: LogStore, other: LogStore, forwarder: Make, database_url: str
) -> None:
    """kill -9 again and again in the middle of the work: nothing is lost, nothing is stored twice."""
    store_all(log, [event(number) for number in range(400)])
    with receiving(other, lambda _: time.sleep(0.01)) as receiver:
        for _ in range(3):
            before = len(receiver.requests)
            process = subprocess.Popen(
                [sys.executable, "-c", FORWARD, database_url, receiver.url], cwd=ROOT, stdout=subprocess.PIPE
            )
            wait_until(lambda before=before: len(receiver.requests) > before + 8)  # type: ignore[misc]
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
        killed_at = count(other)
        wait_until(lambda: _is_free(forwarder, receiver.url))
    assert killed_at > 0
    assert contents(other) == contents(log)


def _is_free(forwarder: Make, url: str) -> bool:
    """Forward the rest, once PostgreSQL has noticed that the killed session is gone."""
    from lineagelog.errors import TargetBusy

    try:
        forwarder(url, redact=False).run()
    except TargetBusy:
        return False
    return True
