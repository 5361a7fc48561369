"""Publishing into Egeria in the background of `serve`: one task, and its samples for the metrics."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import structlog

from lineagelog.analysis import analyses_named
from lineagelog.egeria.remote import Egeria
from lineagelog.metrics import Sample
from lineagelog.postgres.database import Database
from lineagelog.publish import PlanItem, Publisher, Watch
from lineagelog.publish.source import whole_days, wishes
from lineagelog.settings import Settings
from lineagelog.store.ledgers.publications import Publications

from .background import Task

_log = structlog.get_logger(__name__)


class PublishTask:
    """Asks the analyses every so often and sends what they tell. pyegeria has a process of its own."""

    name = "publish"

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database, self._settings = database, settings
        self._analyses = analyses_named(settings.egeria.analyses)
        self.watch: Watch | None = None

    def run(self, stop: threading.Event) -> None:
        """Until ``stop`` is set; the call that is on its way is finished first."""
        egeria = self._settings.egeria
        with Egeria(egeria) as catalogue:
            publisher = Publisher(Publications(self._database), catalogue)
            self.watch = Watch(publisher, self._wishes, every=egeria.publish_seconds, days_kept=egeria.reports_kept)
            _log.info("publishing begins", action="publish", url=egeria.platform_url)
            self.watch.run(stop)

    def _wishes(self) -> list[PlanItem]:
        return wishes(self._database, self._analyses, whole_days(datetime.now(UTC)), self._settings)


class Publishing:
    """The task, and how it does."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._task = PublishTask(database, settings)

    @property
    def tasks(self) -> Sequence[Task]:
        """One."""
        return [self._task]

    def close(self) -> None:
        """Nothing is left open."""

    def samples(self) -> Iterator[Sample]:
        """What this process has sent, and whether Egeria can be used now."""
        watch = self._task.watch
        if watch is None:
            return
        for outcome, count in watch.totals.counts.items():
            text = "Items of the outbox by what became of them in this process"
            yield Sample("lineagelog_publications", text, "counter", {"outcome": outcome}, count)
        text = "1 while Egeria, or the store, cannot be used for publishing"
        yield Sample("lineagelog_publishing_waits", text, "gauge", {}, watch.problem is not None)
