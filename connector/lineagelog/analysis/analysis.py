"""What an analysis is, and how one is run: the window and parameters into SQL, the rows into findings."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Final

from msgspec import Struct, convert
from sqlalchemy import Engine

from lineagelog.errors import InputError
from lineagelog.read import Window
from lineagelog.read.script import run_script
from lineagelog.store.schema import LogStoreSchema

from .finding import Finding

_NO_TEXT: Final = re.compile("[\0\ud800-\udfff]")
"""What PostgreSQL's texts never hold; bytes of a command line that are no UTF-8 come as surrogates."""


class Parameter(Struct, frozen=True):
    """A parameter of an analysis beside the window."""

    name: str
    meaning: str
    default: str
    pattern: str = ".*"
    """A regular expression for what it may be."""
    expected: str = "a text"
    """The same in words."""
    as_stored: Callable[[str], str] = str
    """Gives a value as the log spells it."""


class Analysis[Row: Struct](ABC):
    """A question to the log. The class gives its words and makes findings; `sql/analyses/` has its SQL.

    ``explain`` is pure. A row type names the columns that the SQL gives.
    """

    name: ClassVar[str]
    """As in the file of its SQL."""
    question: ClassVar[str]
    parameters: ClassVar[tuple[Parameter, ...]] = ()
    one_of: ClassVar[tuple[str, ...]] = ()
    """Parameters of which exactly one must be given."""
    row: type[Row]

    @abstractmethod
    def explain(self, rows: Iterable[Row]) -> list[Finding]:
        """The findings that the rows amount to, in the order to show them."""


@cache
def script(name: str) -> str:
    """The SQL of an analysis."""
    package = Path(__file__).parents[1]
    places = (package / "sql" / "analyses", package.parents[1] / "sql" / "analyses")
    return next(file for place in places if (file := place / f"{name}.sql").is_file()).read_text(encoding="utf-8")


def analyse[Row: Struct](
    engine: Engine,
    schema: LogStoreSchema,
    analysis: Analysis[Row],
    window: Window,
    values: Mapping[str, str] | None = None,
) -> list[Finding]:
    """Ask a question about a window of the log.

    ``values`` by the names of the analysis' parameters; the others have their defaults. Raises InputError for a
    parameter that the analysis does not have and for a value that it cannot use, StoreUnavailable and StoreNotCreated.
    """
    chosen = _values(analysis, values or {})
    bounds = {"from": window.start.isoformat(), "to": window.end.isoformat()}
    rows = run_script(engine, schema, script(analysis.name), bounds | chosen)
    return analysis.explain([convert(_plain(row), analysis.row) for row in rows])


def _values(analysis: Analysis[Any], given: Mapping[str, str]) -> dict[str, str]:
    known = {parameter.name: parameter for parameter in analysis.parameters}
    if unknown := sorted(given.keys() - known.keys()):
        raise InputError(f"{analysis.name} has no parameter {unknown[0]!r}; it has {', '.join(known) or 'none'}")
    for name, value in given.items():
        if _NO_TEXT.search(value) or not re.fullmatch(known[name].pattern, value, re.DOTALL):
            raise InputError(f"{name} of {analysis.name} is {known[name].expected}, not {value[:60]!r}")
    if analysis.one_of and sum(bool(given.get(name)) for name in analysis.one_of) != 1:
        raise InputError(f"{analysis.name} starts with one of {' and '.join(analysis.one_of)}: give one of them")
    return {name: each.as_stored(given.get(name, each.default)) for name, each in known.items()}


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.astimezone(UTC) if isinstance(value, datetime) else value for name, value in row.items()}
