"""Asks an analysis of the log: the window and the parameters into its SQL, its rows into what it tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from msgspec import Struct, convert

from lineagelog.analysis import NO_RULES, Analysis, Arrived, Finding, Given, Joins, Judgement, Rules, read_rules
from lineagelog.errors import AnalysisStopped, InputError
from lineagelog.postgres.database import Database
from lineagelog.resources import sql_text
from lineagelog.settings import AnalyseSettings

from .rows import Window
from .script import Stop, raw_events, run_script

TIME_LIMIT: Final = timedelta(minutes=5)

ALWAYS: Final = Window(datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
EVERYTHING: Final = Arrived()

_PLANNER: Final = {
    Joins.HASH: {"enable_nestloop": "off", "work_mem": "64MB", "jit": "off"},
    Joins.INDEX: {"work_mem": "64MB", "jit": "off"},
}


class Answer(Struct, frozen=True):
    """What an analysis said of a window."""

    analysis: str
    window: Window
    told: Judgement

    @property
    def findings(self) -> tuple[Finding, ...]:
        """In the order to show them."""
        return self.told.findings

    @property
    def document(self) -> dict[str, Any]:
        """For programs: what the command line prints as JSON and HTTP answers."""
        return {
            "analysis": self.analysis,
            "window": {"from": None if self.window.is_open else self.window.start, "to": self.window.end},
            "results": [result.document for result in self.told.results],
            "findings": [finding.document for finding in self.findings],
            "insufficient": self.told.insufficient,
        }


class Terms(Struct, frozen=True):
    """On which terms analyses are asked."""

    rules: Rules = NO_RULES
    """What the settings say of single jobs and datasets."""
    time_limit: timedelta = TIME_LIMIT
    """Of each."""
    stop: Stop | None = None
    """Ends it before."""


def terms_of(settings: AnalyseSettings) -> Terms:
    """Those of the settings. Raises SettingsError for rules that are none."""
    return Terms(read_rules(settings.rules), timedelta(seconds=settings.time_limit))


_USUAL: Final = Terms()


def ask(
    database: Database,
    analysis: Analysis[Any],
    window: Window,
    values: Mapping[str, str] | None = None,
    *,
    as_of: datetime | None = None,
    terms: Terms = _USUAL,
) -> Answer:
    """Ask a question about a window of the log.

    ``values`` by the names of the analysis' parameters; the others have their defaults. ``as_of`` is the clock by which
    something is late, the window's end by default. Raises InputError for a parameter that the analysis does not have
    and for a value that it cannot use, AnalysisStopped after the time limit or by the terms' ``stop``, StoreUnavailable
    and StoreNotCreated.
    """
    if analysis.is_as_of_its_end and as_of not in (None, window.end):
        raise InputError(f"as_of of {analysis.name} is the end of the window, as Egeria has it, and no other time")
    given = _given(analysis, window, values, as_of=as_of, rules=terms.rules)
    return Answer(analysis.name, window, _judged(database, analysis, given, EVERYTHING, terms))


@contextmanager
def looked_at[Row: Struct](
    database: Database, analysis: Analysis[Row], window: Window, terms: Terms = _USUAL
) -> Iterator[Iterable[Row]]:
    """The rows that an analysis judges, with its defaults: what a drawing shows beside its findings.

    Raises what `ask` raises.
    """
    given = _given(analysis, window, {})
    with (
        _limited(analysis, terms.time_limit) as settings,
        _rows(database, analysis, given, EVERYTHING, settings, Stop()) as rows,
    ):
        yield rows


def ask_new(
    database: Database,
    analysis: Analysis[Any],
    arrived: Arrived,
    *,
    as_of: datetime,
    terms: Terms = _USUAL,
) -> Answer:
    """As `ask`, of an analysis that reads events: of those that arrived, whatever their time.

    `store.ledgers.analysing` remembers what was looked at. Raises InputError for an analysis of the digest.
    """
    if not analysis.reads_events:
        raise InputError(f"{analysis.name} reads the digest, which does not tell what is new")
    own = terms.rules.of_analysis(analysis.name)
    given = Given(start=ALWAYS.start, end=ALWAYS.end, as_of=as_of, values=analysis.values({}), rules=own)
    return Answer(analysis.name, ALWAYS, _judged(database, analysis, given, arrived, terms))


def _given(
    analysis: Analysis[Any],
    window: Window,
    values: Mapping[str, str] | None,
    *,
    as_of: datetime | None = None,
    rules: Rules = NO_RULES,
) -> Given:
    return Given(
        start=window.start,
        end=window.end,
        as_of=as_of or window.end,
        values=analysis.values(values or {}),
        rules=rules.of_analysis(analysis.name),
    )


def _judged(
    database: Database,
    analysis: Analysis[Any],
    given: Given,
    arrived: Arrived,
    terms: Terms,
) -> Judgement:
    with (
        _limited(analysis, terms.time_limit) as settings,
        _rows(database, analysis, given, arrived, settings, terms.stop or Stop()) as rows,
    ):
        return analysis.judge(rows, given)


@contextmanager
def _limited(analysis: Analysis[Any], time_limit: timedelta) -> Iterator[dict[str, str]]:
    """The settings of its statement; where that is stopped, AnalysisStopped says which it was, and what helps."""
    try:
        yield {**_PLANNER[analysis.joins], "statement_timeout": f"{time_limit // timedelta(milliseconds=1)}ms"}
    except AnalysisStopped as stopped:
        raise AnalysisStopped(
            f"{analysis.name} was stopped after {time_limit.total_seconds():g} s: take a shorter window or history, or "
            "raise analyse.time_limit"
        ) from stopped


@contextmanager
def _rows(
    database: Database,
    analysis: Analysis[Any],
    given: Given,
    arrived: Arrived,
    settings: Mapping[str, str],
    stop: Stop,
) -> Iterator[Iterable[Any]]:
    """From the digest by its SQL, or from the raw events."""
    if analysis.from_events is not None and given.values.get("history") == "events":
        with raw_events(database, given.start, given.end, settings, stop) as events:
            yield analysis.from_events(events)
        return
    times = {"from": given.start, "to": given.end, "as_of": given.as_of}
    variables = {**{name: time.isoformat() for name, time in times.items()}, **arrived.variables, **given.values}
    with run_script(database, sql_text(analysis.script), variables, settings, stop) as found:
        yield (convert({name: _plain(value) for name, value in row.items()}, analysis.row) for row in found)


def _plain(value: Any) -> Any:
    """Times in UTC; sums as the whole numbers that they are, other numbers of any length as doubles."""
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value
