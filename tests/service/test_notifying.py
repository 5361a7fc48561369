"""The webhook: told at least once, signed, whatever it answers; its secrets are nowhere."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from structlog.testing import capture_logs

from lineagelog.errors import SettingsError, TargetUnavailable
from lineagelog.findings.webhook import DELIVERY, SIGNATURE, Webhook, message
from lineagelog.service.notifying import Notifying, NotifyTask
from lineagelog.settings import NotifySettings
from lineagelog.store.ledgers.finding_news import FindingNews, Untold
from lineagelog.store.ledgers.findings import Findings
from tests.analysis.support import day
from tests.findings.support import finding, kept, record
from tests.forward.receiver import Reply, Request, receiving
from tests.support import join, wait_until

if TYPE_CHECKING:
    from lineagelog.store import LogStore

SECRET = "s3cr3t-of-the-webhook"
UNTOLD = Untold(finding("a", 0).finding_id, "opened", day(1), 1)


@contextmanager
def running(task: NotifyTask) -> Iterator[None]:
    """The task on a thread, as `serve` has it."""
    stop = threading.Event()
    thread = threading.Thread(target=task.run, args=(stop,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        join(thread)
        task.webhook.close()


def news_of(requests: list[Request]) -> list[tuple[str, str]]:
    told = [json.loads(each.body) for each in requests]
    return [(each["news"], each["finding"]["subject"]["name"]) for each in told]


def test_what_becomes_of_findings_is_told_and_signed(store: LogStore, tmp_path: Path) -> None:
    """Opened, closed and reopened; what goes on or is muted is no news; the body is signed with the secret."""
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    with receiving(None, lambda _: Reply(200, b"ok")) as receiver:
        task = NotifyTask(store.database, NotifySettings(url=receiver.url, secret_file=tmp_path / "secret"))
        record(store, 0, 2, finding("untold", 1))
        with running(task):
            record(store, 0, 3, finding("a", 2), finding("b", 2), finding("untold", 2), tell=True)
            wait_until(lambda: len(receiver.requests) == 2)
            record(store, 0, 3, finding("a", 2), finding("b", 2), finding("untold", 2), tell=True)
            Findings(store.database).mute(kept(store)["b"].finding_id, by="ben")
            record(store, 0, 4, finding("untold", 2), tell=True)
            wait_until(lambda: len(receiver.requests) == 3)
            record(store, 0, 5, finding("a", 4), finding("b", 4), finding("untold", 2), tell=True)
            wait_until(lambda: len(receiver.requests) == 4)
        assert FindingNews(store.database).waiting() == 0
        assert sorted(news_of(receiver.requests[:2])) == [("opened", "a"), ("opened", "b")]
        assert news_of(receiver.requests[2:]) == [("closed", "a"), ("reopened", "a")]
        assert task.told == {"opened": 2, "closed": 1, "reopened": 1}
        for request in receiver.requests:
            signature = hmac.new(SECRET.encode(), request.body, hashlib.sha256).hexdigest()
            assert request.headers[SIGNATURE] == f"sha256={signature}"
            assert request.headers["Content-Type"] == "application/json"
        assert len({request.headers[DELIVERY] for request in receiver.requests}) == 4


def test_it_is_told_until_it_is_taken(store: LogStore, tmp_path: Path) -> None:
    """A receiver that fails, cuts the line, sends to a page to sign in at, or shows one: the same is told again."""
    answers = iter(
        [
            Reply(503),
            Reply(0),
            Reply(302, headers={"Location": "https://login.example.org/?token=abc"}),
            Reply(200, b"<!doctype html><title>Sign in</title>", {"Content-Type": "text/html"}),
            Reply(404),
            Reply(204),
        ]
    )
    (tmp_path / "url").touch()
    with receiving(None, lambda _: next(answers)) as receiver, capture_logs() as logs:
        (tmp_path / "url").write_text(f"{receiver.url}/services/{SECRET}\n")
        task = NotifyTask(store.database, NotifySettings(url_file=tmp_path / "url"), first_pause=0.01)
        record(store, 0, 3, finding("a", 2), tell=True)
        with running(task):
            wait_until(lambda: task.told["opened"] == 1)
        assert task.failures == 5
        assert len({request.headers[DELIVERY] for request in receiver.requests}) == 1
    assert [line["event"] for line in logs] == ["webhook fails"]
    assert SECRET not in repr(logs)


def test_a_receiver_that_hangs(store: LogStore) -> None:
    """It holds nobody up: after the time-out it is told again."""
    hangs, is_over = threading.Event(), threading.Event()

    def script(_: Request) -> Reply:
        if not hangs.is_set():
            hangs.set()
            is_over.wait()
        return Reply(200)

    with receiving(None, script) as receiver:
        task = NotifyTask(store.database, NotifySettings(url=receiver.url, timeout=0.2), first_pause=0.01)
        record(store, 0, 3, finding("a", 2), tell=True)
        try:
            with running(task):
                wait_until(lambda: task.told["opened"] == 1)
        finally:
            is_over.set()
        assert task.failures >= 1


def test_who_dies_with_news_in_hand_leaves_it_to_others(store: LogStore) -> None:
    """Taken and not marked as told, it is told again when the lease is over; of two, one has it at a time."""
    record(store, 0, 3, finding("a", 2), tell=True)
    news = FindingNews(store.database)
    taken = news.take(timedelta(hours=1))
    assert taken is not None
    assert news.take(timedelta(hours=1)) is None
    news.tell_again(taken, timedelta(seconds=-1))
    again = news.take(timedelta(hours=1))
    assert again is not None
    assert (again.finding_id, again.since, again.attempts) == (taken.finding_id, taken.since, 2)
    record(store, 0, 4, tell=True)  # closed meanwhile: that is still to be told
    news.told(again)
    later = news.take(timedelta(hours=1))
    assert later is not None
    assert (later.news, later.attempts) == ("closed", 1)
    news.told(later)
    assert news.waiting() == 0


def test_below_the_least_severity_nothing_is_told(store: LogStore) -> None:
    """It does not wait either."""
    with receiving(None, lambda _: Reply(200)) as receiver:
        task = NotifyTask(store.database, NotifySettings(url=receiver.url, severity="high"))
        record(store, 0, 3, finding("a", 2), tell=True)
        with running(task):
            wait_until(lambda: FindingNews(store.database).waiting() == 0)
        assert receiver.requests == []


def test_the_form_that_slack_takes() -> None:
    """A text with Slack's three signs escaped; in neither form a credential."""
    told = finding("a", 0, explanation="<b> & postgres://u:hunter2@h/d\x1b[1m").document
    slack = message("slack", UNTOLD, told)
    assert list(slack) == ["text"]
    assert slack["text"].startswith("*opened*: &lt;b&gt; &amp; postgres://u:***@h/d")
    assert "\x1b" not in slack["text"]
    assert "hunter2" not in json.dumps(message("json", UNTOLD, told), default=str)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"url": "ftp://h/x"}, "must be http:// or https://"),
        ({"url": "http://h/x", "url_file": "u"}, "exclude each other"),
        ({"url_file": "nowhere"}, "'notify.url_file' cannot be read"),
        ({"url": "http://h/x", "secret_file": "nowhere"}, "'notify.secret_file' cannot be read"),
    ],
)
def test_settings_that_cannot_be_used(settings: dict[str, Any], problem: str) -> None:
    """It is said when `serve` begins, without the URL, which may be a secret."""
    with pytest.raises(SettingsError, match=problem):
        Webhook(NotifySettings(**settings))


def test_a_failure_names_no_secret() -> None:
    """Nobody listens there."""
    webhook = Webhook(NotifySettings(url=f"http://127.0.0.1:9/{SECRET}", timeout=5))
    with pytest.raises(TargetUnavailable) as failure:
        webhook.tell(UNTOLD, finding("a", 0).document)
    assert SECRET not in str(failure.value)
    webhook.close()


def test_the_metrics(store: LogStore) -> None:
    """All names are there from the start."""
    part = Notifying(store.database, NotifySettings(url="http://127.0.0.1:9/"))
    names = {each.name for each in part.samples()}
    part.close()
    assert names == {
        "lineagelog_notifications",
        "lineagelog_notification_failures",
        "lineagelog_notifying_failing",
    }
