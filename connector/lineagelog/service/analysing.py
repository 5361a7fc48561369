"""Analyses in the background of `serve`: asked by the schedule of the settings, and recorded; and their samples."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import structlog

from lineagelog.backoff import pause_after
from lineagelog.errors import LineageLogError, StoreUnavailable
from lineagelog.findings import Recorder
from lineagelog.findings.schedule import Scheduled, read_schedule, window_before
from lineagelog.metrics import Sample
from lineagelog.postgres.database import Database
from lineagelog.read.analyses import terms_of
from lineagelog.settings import Settings
from lineagelog.store.ledgers.finding_rows import FindingRows

from .background import Task

_LOOK_SECONDS: Final = 1.0
"""How often it is looked whether an analysis is due."""
_FIRST_PAUSE: Final = 5.0
_LONGEST_PAUSE: Final = 600.0

_log = structlog.get_logger(__name__)


class ScheduledAnalysis:
    """One analysis of the schedule, and how it does in this process."""

    def __init__(self, scheduled: Scheduled) -> None:
        self.scheduled = scheduled
        self.name = scheduled.analysis.name
        self.succeeded_at: float | None = None
        """Seconds since 1970."""
        self.seconds: float | None = None
        self.failures = 0
        self._failures_in_a_row = 0
        self._not_before = 0.0

    def is_due(self, recorder: Recorder, now: datetime) -> bool:
        """Whether its interval is over since anybody recorded it last, and its pause after a failure."""
        if time.monotonic() < self._not_before:
            return False
        last = recorder.last(self.scheduled.analysis)
        if last is None:
            return True
        self.succeeded_at = last.recorded_at.timestamp()
        left = self.scheduled.every - (now - last.recorded_at)
        if left > timedelta(0):  # no need to ask the store again before; a clock that was set back must not stop it
            self._not_before = time.monotonic() + min(left, self.scheduled.every).total_seconds()
        return left <= timedelta(0)

    def ask(self, recorder: Recorder, now: datetime, length: str) -> None:
        """Ask and record. Raises StoreUnavailable; what is wrong with the analysis alone is logged, and it pauses."""
        begin = time.monotonic()
        try:
            _, recorded = recorder.record_new(self.scheduled.analysis, window_before(now, length))
        except StoreUnavailable:
            raise
        except LineageLogError as error:
            self.failures += 1
            self._failures_in_a_row += 1
            pause = pause_after(self._failures_in_a_row, first=_FIRST_PAUSE, longest=_LONGEST_PAUSE)
            self._not_before = time.monotonic() + pause
            _log.warning("analysis failed", action="analyse", analysis=self.name, error=str(error))
            return
        self._failures_in_a_row, self.seconds = 0, time.monotonic() - begin
        self.succeeded_at = datetime.now(UTC).timestamp()
        counts = {name: getattr(recorded, name) for name in ("opened", "reopened", "closed", "seen")}
        _log.info("analysis recorded", action="analyse", analysis=self.name, **counts)


class AnalyseTask:
    """Asks what is due, one after the other: analyses do not take the database from each other."""

    name = "analyse"

    def __init__(self, database: Database, settings: Settings) -> None:
        asked = settings.analyse
        self.analyses = [ScheduledAnalysis(each) for each in read_schedule(asked.schedule)]
        self._recorder = Recorder(database, terms_of(asked), tell=settings.notify.is_wanted)
        self._rows, self._length = FindingRows(database), asked.window
        self.open: Counter[tuple[str, str]] = Counter()
        """Open findings by analysis and severity, when the last analysis was recorded here."""

    def run(self, stop: threading.Event) -> None:
        """Until ``stop`` is set; an analysis that is on its way ends first, or with its session."""
        self.open = Counter(self._rows.by_severity())
        try:
            while not stop.is_set():
                self._ask_due(stop.is_set)
                stop.wait(_LOOK_SECONDS)
        finally:
            self.open = Counter()

    def _ask_due(self, is_over: Callable[[], bool]) -> None:
        for each in self.analyses:
            if is_over():
                return
            now = datetime.now(UTC)
            if each.is_due(self._recorder, now):
                each.ask(self._recorder, now, self._length)
                self.open = Counter(self._rows.by_severity())


class ScheduledAnalyses:
    """The task, and how it does. Raises SettingsError for a schedule that cannot be used."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._task = AnalyseTask(database, settings)

    @property
    def tasks(self) -> Sequence[Task]:
        """One."""
        return [self._task]

    def close(self) -> None:
        """Nothing is left open."""

    def samples(self) -> Iterator[Sample]:
        """Per analysis of the schedule; what is known where the task is led."""
        for each in self._task.analyses:
            labels = {"analysis": each.name}
            text = "Recorded runs of the schedule that failed in this process"
            yield Sample("lineagelog_analysis_failures", text, "counter", labels, each.failures)
            if each.succeeded_at is not None:
                text = "When the analysis was recorded last, in seconds since 1970"
                yield Sample("lineagelog_analysis_last_success_seconds", text, "gauge", labels, each.succeeded_at)
            if each.seconds is not None:
                text = "How long its last recorded run took in this process"
                yield Sample("lineagelog_analysis_duration_seconds", text, "gauge", labels, each.seconds)
        for (analysis, severity), count in tuple(self._task.open.items()):
            labels = {"analysis": analysis, "severity": severity}
            yield Sample("lineagelog_findings_open", "Open findings, muted ones apart", "gauge", labels, count)
