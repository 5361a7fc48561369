"""Tells the webhook what becomes of findings, in the background of `serve`: one task, and its samples."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

import structlog

from lineagelog.analysis import Severity
from lineagelog.backoff import pause_after
from lineagelog.errors import SettingsError, TargetUnavailable
from lineagelog.metrics import Sample
from lineagelog.postgres.database import Database
from lineagelog.settings import NotifySettings
from lineagelog.store.ledgers.finding_news import FindingNews, Untold
from lineagelog.store.ledgers.finding_rows import FindingRows

from .background import Task

_LOOK_SECONDS: Final = 1.0
"""How often it is looked whether there is news."""
_FIRST_PAUSE: Final = 2.0
_LONGEST_PAUSE: Final = 600.0
_LEASE: Final = timedelta(minutes=2)
"""Beside the time for an answer: who dies with news in hand leaves it to others then."""

_log = structlog.get_logger(__name__)


class NotifyTask:
    """Tells at least once: what was taken and not marked as told, because we died, is told again."""

    name = "notify"

    def __init__(self, database: Database, settings: NotifySettings, first_pause: float = _FIRST_PAUSE) -> None:
        try:
            from lineagelog.findings.webhook import Webhook
        except ModuleNotFoundError as error:
            raise SettingsError(f"a webhook needs {error.name}: pip install 'lineagelog[forward]'") from error
        self.webhook = Webhook(settings)
        self._news, self._rows = FindingNews(database), FindingRows(database)
        self._least, self._lease = Severity(settings.severity), timedelta(seconds=settings.timeout) + _LEASE
        self._first_pause = first_pause
        self.told: Counter[str] = Counter()
        self.failures = 0
        self.failures_in_a_row = 0
        self.waiting: int | None = None

    def run(self, stop: threading.Event) -> None:
        """Until ``stop`` is set; what is on its way is finished first."""
        try:
            while not stop.is_set():
                untold = self._news.take(self._lease)
                if untold is not None:
                    self._tell(untold, stop)
                self.waiting = self._news.waiting()
                if untold is None:
                    stop.wait(_LOOK_SECONDS)
        finally:
            self.waiting = None

    def _tell(self, untold: Untold, stop: threading.Event) -> None:
        row = self._rows.get(untold.finding_id)
        if row is None or row.severity.rank < self._least.rank:
            self._news.told(untold)
            return
        try:
            self.webhook.tell(untold, row.document)
        except TargetUnavailable as error:
            self.failures += 1
            self.failures_in_a_row += 1
            pause = pause_after(untold.attempts, first=self._first_pause, longest=_LONGEST_PAUSE)
            self._news.tell_again(untold, timedelta(seconds=pause))
            if self.failures_in_a_row == 1:
                _log.warning("webhook fails", action="notify", url=self.webhook.shown, error=str(error))
            # the receiver is the same for all
            stop.wait(pause_after(self.failures_in_a_row, first=self._first_pause, longest=_LONGEST_PAUSE))
            return
        self.failures_in_a_row = 0
        self.told[untold.news] += 1
        self._news.told(untold)


class Notifying:
    """The task, and how it does. Raises SettingsError for a webhook that cannot be used."""

    def __init__(self, database: Database, settings: NotifySettings) -> None:
        self._task = NotifyTask(database, settings)

    @property
    def tasks(self) -> Sequence[Task]:
        """One."""
        return [self._task]

    def close(self) -> None:
        """Close the connections to the receiver."""
        self._task.webhook.close()

    def samples(self) -> Iterator[Sample]:
        """What this process has told, and what waits where the task is led."""
        for news in ("opened", "reopened", "closed"):
            text = "Findings that the webhook was told of in this process"
            yield Sample("lineagelog_notifications", text, "counter", {"news": news}, self._task.told[news])
        text = "Attempts to tell the webhook that failed in this process"
        yield Sample("lineagelog_notification_failures", text, "counter", {}, self._task.failures)
        text = "1 while the webhook does not take what it is told"
        yield Sample("lineagelog_notifying_failing", text, "gauge", {}, self._task.failures_in_a_row > 0)
        if self._task.waiting is not None:
            text = "Findings that the webhook is to be told of"
            yield Sample("lineagelog_notifications_waiting", text, "gauge", {}, self._task.waiting)
