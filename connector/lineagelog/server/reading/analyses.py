"""Analyses over HTTP: a read for each declaration, and the list of them."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from lineagelog.analysis import Analysis, Finding, Parameter, SubjectResult, analyses
from lineagelog.errors import AnalysisStopped, InputError
from lineagelog.read import Reader
from lineagelog.read.period import parse_instant
from lineagelog.server.answers import Refusal
from lineagelog.store.ledgers.tokens import Grant

from .query import SOME_TEXT, UNTIL, Query, QueryParameter, bad
from .reads import Read, unbound

PATH: Final = "/api/v1/analyses"
_SINCE: Final = "-7d"
"""As on the command line."""
_WINDOW: Final = (
    QueryParameter(
        "since",
        "From here on: 2026-03-01, 2026-03-01T08:00:00Z, -7d (s, m, h, d, w), now or all",
        {**SOME_TEXT, "default": _SINCE},
    ),
    QueryParameter("until", UNTIL.description, {**SOME_TEXT, "default": "now"}),
    QueryParameter("as_of", "The clock by which something is late; written like since, until if absent", SOME_TEXT),
)


class ParameterOfAnalysis(Struct, frozen=True):
    """What an analysis takes beside the window."""

    name: str
    meaning: str
    schema: dict[str, Any]


class ListedAnalysis(Struct, frozen=True):
    """An analysis that can be asked."""

    name: str
    question: str
    about: str
    parameters: tuple[ParameterOfAnalysis, ...]
    one_of: tuple[str, ...]
    """Parameters of which exactly one must be given."""


class AnalysisList(Struct, frozen=True):
    """All analyses that can be asked."""

    items: tuple[ListedAnalysis, ...]


class AskedWindow(Struct, frozen=True, rename={"start": "from", "end": "to"}):
    """The window that was looked at; it has no start where all was asked for."""

    start: datetime | None
    end: datetime


class AnalysisAnswer(Struct, frozen=True):
    """What an analysis said: the same document as `lineagelog analyse NAME --json`."""

    analysis: str
    window: AskedWindow
    results: list[SubjectResult]
    findings: list[Finding]
    insufficient: int
    """Subjects with too little history to be judged."""


def _list(reader: Reader, query: Query, grant: Grant) -> AnalysisList:  # noqa: ARG001  # asks nothing of the store
    return AnalysisList(tuple(_listed(analysis) for analysis in analyses().values()))


def _listed(analysis: Analysis[Any]) -> ListedAnalysis:
    own = tuple(ParameterOfAnalysis(each.name, each.meaning, each.json_schema) for each in analysis.parameters)
    return ListedAnalysis(analysis.name, analysis.question, analysis.about, own, analysis.one_of)


def _ask(analysis: Analysis[Any], reader: Reader, query: Query, grant: Grant) -> Any:
    unbound(grant, "an analysis looks at the runs of all of them: its findings cannot be narrowed yet")
    now = datetime.now(UTC)
    window, as_of = query.window(now, _SINCE), query.instant("as_of", now, parse_instant)
    values = {each.name: _value(each, query) for each in analysis.parameters if each.name in query}
    terms = replace(query.limits.analyses, stop=query.stop)
    try:
        return reader.ask(analysis, window, values, as_of=as_of, terms=terms).document
    except InputError as problem:  # of several parameters together
        name = analysis.one_of[0] if analysis.one_of else "as_of" if analysis.is_as_of_its_end else None
        raise Refusal(400, "bad_parameter", str(problem), parameter=name) from None
    except AnalysisStopped as stopped:
        raise Refusal(503, "analysis_stopped", str(stopped)) from None


def _value(parameter: Parameter, query: Query) -> str:
    value = query.given[parameter.name]
    if not parameter.accepts(value):
        raise bad(parameter.name, f"must be {parameter.expected}, not {value[:60]!r}")
    return value


def _read_of(analysis: Analysis[Any]) -> Read:
    own = tuple(QueryParameter(each.name, each.meaning, each.json_schema) for each in analysis.parameters)
    choice = f" Takes one of {' and '.join(analysis.one_of)}." if analysis.one_of else ""
    return Read(
        path=f"{PATH}/{analysis.name}",
        summary=analysis.question,
        description=f"{analysis.about}{choice}",
        ask=partial(_ask, analysis),
        answer=AnalysisAnswer,
        parameters=(*_WINDOW, *own),
        is_analysis=True,
    )


LIST: Final = Read(path=PATH, summary="The analyses that can be asked", ask=_list, answer=AnalysisList)
ANALYSES: Final = {name: _read_of(analysis) for name, analysis in analyses().items()}


def read_named(name: str) -> Read:
    """The read of the analysis of that name, with - or _. Raises Refusal: 404 that lists those there are."""
    try:
        return ANALYSES[name.replace("-", "_")]
    except KeyError:
        known = ", ".join(ANALYSES)
        raise Refusal(404, "not_found", f"there is no analysis {name[:60]!r}; there are {known}") from None
