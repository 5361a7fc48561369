"""Asks an analysis and records what it told: by hand with `analyse --record`, and on the schedule of `serve`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from lineagelog.analysis import Analysis
from lineagelog.postgres.database import Database
from lineagelog.read import Window
from lineagelog.read.analyses import Answer, Terms, ask, ask_new
from lineagelog.store.ledgers.analysing import Analysing
from lineagelog.store.ledgers.findings import AskedQuestion, Findings, Recorded, Recording, RunTold

_DEFAULTS: Final[Mapping[str, str]] = {}


class Recorder:
    """Records into one store. With ``tell`` the webhook is to hear what is opened, reopened and closed."""

    def __init__(self, database: Database, terms: Terms = Terms(), *, tell: bool = False) -> None:  # noqa: B008  # frozen
        self._database, self._findings, self._cursors = database, Findings(database), Analysing(database)
        self._terms, self._tell = terms, tell

    def record(
        self, analysis: Analysis[Any], window: Window, values: Mapping[str, str] = _DEFAULTS
    ) -> tuple[Answer, Recorded]:
        """Ask, and keep what is told. Raises what `ask` raises; nothing is recorded then."""
        question = question_of(analysis, values)
        return self._keep(question, window, lambda: ask(self._database, analysis, window, values, terms=self._terms))

    def record_new(self, analysis: Analysis[Any], window: Window) -> tuple[Answer, Recorded]:
        """As `record`; but an analysis that reads events reads those that arrived since the last time, and no other."""
        if not analysis.reads_events:
            return self.record(analysis, window)
        arrived = self._cursors.unread(analysis.name)

        def answer() -> Answer:
            told = ask_new(self._database, analysis, arrived, as_of=window.end, terms=self._terms).told
            return Answer(analysis.name, window, told)

        kept = self._keep(question_of(analysis), window, answer, is_whole=False)
        self._cursors.read(analysis.name, arrived)  # who is killed before it reads the same once more
        return kept

    def last(self, analysis: Analysis[Any]) -> Recording | None:
        """The last recorded run that asked without parameters."""
        return self._findings.last(question_of(analysis))

    def _keep(
        self, question: AskedQuestion, window: Window, get: Callable[[], Answer], *, is_whole: bool = True
    ) -> tuple[Answer, Recorded]:
        begin = time.monotonic()
        answer = get()
        told = RunTold(
            start=window.start,
            end=window.end,
            findings=answer.findings,
            insufficient=answer.told.insufficient,
            seconds=time.monotonic() - begin,
            is_whole=is_whole,
        )
        return answer, self._findings.record(question, told, tell=self._tell)


def question_of(analysis: Analysis[Any], values: Mapping[str, str] = _DEFAULTS) -> AskedQuestion:
    """The question that the analysis is asked with these parameters: those that are the defaults say nothing."""
    defaults = {parameter.name: parameter.default for parameter in analysis.parameters}
    return AskedQuestion(analysis.name, {name: value for name, value in values.items() if value != defaults.get(name)})
