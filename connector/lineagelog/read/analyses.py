"""Asks an analysis of the log: the window and the parameters into its SQL, the rows into findings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from msgspec import Struct, convert
from sqlalchemy import Engine

from lineagelog.analysis import Analysis, Finding, Joins
from lineagelog.errors import AnalysisStopped
from lineagelog.resources import sql_text
from lineagelog.store.definition.schema import LogStoreSchema

from .rows import Window
from .script import run_script

TIME_LIMIT: Final = timedelta(minutes=5)

_PLANNER: Final = {
    Joins.HASH: {"enable_nestloop": "off", "work_mem": "64MB", "jit": "off"},
    Joins.INDEX: {"work_mem": "64MB", "jit": "off"},
}


class Answer(Struct, frozen=True):
    """What an analysis said of a window."""

    analysis: str
    window: Window
    findings: tuple[Finding, ...]

    @property
    def document(self) -> dict[str, Any]:
        """For programs: what the command line prints as JSON and HTTP answers."""
        return {
            "analysis": self.analysis,
            "window": {"from": self.window.start, "to": self.window.end},
            "results": [],
            "findings": [finding.document for finding in self.findings],
        }


def ask(
    engine: Engine,
    schema: LogStoreSchema,
    analysis: Analysis[Any],
    window: Window,
    values: Mapping[str, str] | None = None,
    *,
    as_of: datetime | None = None,
    time_limit: timedelta = TIME_LIMIT,
) -> Answer:
    """Ask a question about a window of the log.

    ``values`` by the names of the analysis' parameters; the others have their defaults. ``as_of`` is the clock by which
    something is late, the window's end by default. Raises InputError for a parameter that the analysis does not have
    and for a value that it cannot use, AnalysisStopped after the time limit, StoreUnavailable and StoreNotCreated.
    """
    variables = {
        "from": window.start.isoformat(),
        "to": window.end.isoformat(),
        "as_of": (as_of or window.end).isoformat(),
        **analysis.values(values or {}),
    }
    settings = {**_PLANNER[analysis.joins], "statement_timeout": f"{time_limit // timedelta(milliseconds=1)}ms"}
    try:
        rows = run_script(engine, schema, sql_text(analysis.script), variables, settings)
    except AnalysisStopped as stopped:
        raise AnalysisStopped(
            f"{analysis.name} was stopped after {time_limit.total_seconds():g} s: take a shorter window or history, or "
            "raise analyse.time_limit"
        ) from stopped
    found = analysis.explain([convert(_plain(row), analysis.row) for row in rows])
    return Answer(analysis.name, window, tuple(found))


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.astimezone(UTC) if isinstance(value, datetime) else value for name, value in row.items()}
