"""What an analysis is: a question, its parameters, the columns of its rows, and what the rows amount to.

Command line, HTTP routes, OpenAPI, shell completion and the page in docs/ are made from this; its SQL is the file of
the same name in `sql/analyses/`. Light to import: nothing here knows a database.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from lineagelog.errors import InputError

from .finding import Finding, Insufficient, SubjectResult, Told
from .rules import NO_RULES, Rules

_NO_TEXT: Final = re.compile("[\0\ud800-\udfff]")
"""What PostgreSQL's texts never hold; bytes of a command line that are no UTF-8 come as surrogates."""
_SPAN: Final = re.compile(r"([0-9]{1,6} (minute|hour)|[0-9]{1,5} day|[0-9]{1,4} week)s?")


class Parameter(Struct, frozen=True, kw_only=True):
    """A text that an analysis takes beside the window."""

    name: str
    meaning: str
    default: str = ""
    metavar: str = "TEXT"
    as_stored: Callable[[str], str] = str
    """Gives a value as the log spells it."""

    @property
    def expected(self) -> str:
        """What it may be, in words."""
        return "a text"

    @property
    def option(self) -> str:
        """Its name on a command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def json_schema(self) -> dict[str, Any]:
        """Of its value, for OpenAPI."""
        return {"type": "string", "default": self.default}

    def accepts(self, value: str) -> bool:
        """Whether the value is one that the SQL can use."""
        return not _NO_TEXT.search(value)


class WholeNumber(Parameter, frozen=True, kw_only=True):
    """A whole number within bounds."""

    lowest: int
    highest: int
    metavar: str = "N"

    @property
    def expected(self) -> str:
        """What it may be, in words."""
        return f"a number from {self.lowest} to {self.highest}"

    @property
    def json_schema(self) -> dict[str, Any]:
        """Of its value, for OpenAPI."""
        return {"type": "integer", "minimum": self.lowest, "maximum": self.highest, "default": int(self.default)}

    def accepts(self, value: str) -> bool:
        """Digits, and within the bounds."""
        return re.fullmatch("[0-9]{1,9}", value) is not None and self.lowest <= int(value) <= self.highest


class Span(Parameter, frozen=True, kw_only=True):
    """A length of time, as PostgreSQL spells intervals."""

    metavar: str = "SPAN"

    @property
    def expected(self) -> str:
        """What it may be, in words."""
        return "a number of minutes, hours, days or weeks, such as '30 days', and no more than 9999 weeks"

    @property
    def json_schema(self) -> dict[str, Any]:
        """Of its value, for OpenAPI."""
        return {"type": "string", "pattern": f"^{_SPAN.pattern}$", "default": self.default}

    def accepts(self, value: str) -> bool:
        """Such as `30 days`."""
        return _SPAN.fullmatch(value) is not None


class Choice(Parameter, frozen=True, kw_only=True):
    """One of some words."""

    words: tuple[str, ...]
    metavar: str = "WORD"

    @property
    def expected(self) -> str:
        """What it may be, in words."""
        return f"one of {', '.join(self.words)}"

    @property
    def json_schema(self) -> dict[str, Any]:
        """Of its value, for OpenAPI."""
        return {"type": "string", "enum": list(self.words), "default": self.default}

    def accepts(self, value: str) -> bool:
        """Exactly one of the words."""
        return value in self.words


class Result(StrEnum):
    """What the rows of an analysis become."""

    FINDINGS = "findings"
    TABLE = "table"
    """One row a subject, such as a run profile."""


class Joins(StrEnum):
    """How PostgreSQL is to join, whatever it believes of tables that were filled a moment ago."""

    HASH = "hash"
    """The analysis reads a window as a whole: nested loops over it would take hours where statistics are missing."""
    INDEX = "index"
    """It follows few rows by their keys."""


class Arrived(Struct, frozen=True):
    """Events by their arrival: those of transactions from one to before another, as PostgreSQL numbers them."""

    first: int = 0
    before: int = 2**64 - 1
    """The greatest number is never given to a transaction."""

    @property
    def variables(self) -> dict[str, str]:
        """For the SQL of an analysis that reads events."""
        return {"arrived_from": str(self.first), "arrived_to": str(self.before)}


class Given(Struct, frozen=True, kw_only=True):
    """What was asked: the window [start, end), the clock by which something is late, and all parameters."""

    start: datetime
    end: datetime
    as_of: datetime
    values: Mapping[str, str]
    rules: Rules = NO_RULES
    """What the settings say of single subjects, for this analysis."""


class RawEvent(Struct, frozen=True):
    """A run event of the log, as it was sent but for what JSONB does not keep."""

    time: datetime
    content: bytes


class Judgement(Struct, frozen=True):
    """All that an analysis told."""

    results: tuple[SubjectResult, ...]
    findings: tuple[Finding, ...]
    insufficient: int
    """Subjects with too little history to be judged."""


class Analysis[Row: Struct](Struct, frozen=True, kw_only=True):
    """A question to a window of the log."""

    name: str
    """As in the file of its SQL."""
    question: str
    about: str
    """How it judges, in two or three sentences."""
    row: type[Row]
    """Names the columns that the SQL gives."""
    explain: Callable[[Iterable[Row], Given], Iterable[Told]]
    """Pure: what the rows amount to, in the order to show it; `evidence.each` where one row is one finding."""
    from_events: Callable[[Iterable[RawEvent]], Iterable[Row]] | None = None
    """Gives the same rows from the raw events of the window, both bounds included, in order of time and arrival: for
    `history` events."""
    is_as_of_its_end: bool = False
    """Whether its clock is the window's end and no other."""
    method: str = ""
    """How its findings are judged, where they do not say it themselves."""
    parameters: tuple[Parameter, ...] = ()
    one_of: tuple[str, ...] = ()
    """Parameters of which exactly one must be given."""
    result: Result = Result.FINDINGS
    joins: Joins = Joins.HASH
    engines: tuple[str, ...] = ("postgresql",)
    """Where its SQL runs."""
    reads_events: bool = False
    """Whether it reads what was received and not the digest: its cost follows the events, and their size."""
    where_nothing_is_found: str = ""
    """What may be the reason, for a person."""
    columns: tuple[str, ...] = ()
    """Of a table: the properties to show to a person."""
    example: str = ""
    """Options to show with it."""

    @property
    def script(self) -> str:
        """The path of its SQL below `sql/`."""
        return f"analyses/{self.name}.sql"

    @property
    def needs_a_parameter(self) -> bool:
        """Whether it cannot be asked without one."""
        return bool(self.one_of)

    def values(self, given: Mapping[str, str]) -> dict[str, str]:
        """A text for each parameter. Raises InputError for one that it does not have, and for a value of no use."""
        known = {parameter.name: parameter for parameter in self.parameters}
        if unknown := sorted(given.keys() - known.keys()):
            raise InputError(f"{self.name} has no parameter {unknown[0]!r}; it has {', '.join(known) or 'none'}")
        for name, value in given.items():
            if not known[name].accepts(value):
                raise InputError(f"{name} of {self.name} is {known[name].expected}, not {value[:60]!r}")
        if self.one_of and sum(bool(given.get(name)) for name in self.one_of) != 1:
            raise InputError(f"{self.name} starts with one of {' and '.join(self.one_of)}: give one of them")
        return {name: each.as_stored(given.get(name, each.default)) for name, each in known.items()}

    def judge(self, rows: Iterable[Row], given: Given) -> Judgement:
        """What the rows amount to but for what is to be ignored, its findings with the name of this analysis."""
        results: list[SubjectResult] = []
        findings: list[Finding] = []
        insufficient = 0
        for told in self.explain(rows, given):
            match told:
                case Insufficient():
                    insufficient += told.subjects
                case _ if given.rules and given.rules.of(told.subject).ignore:
                    pass
                case SubjectResult():
                    results.append(told)
                case Finding():
                    findings.append(replace(told, analysis=self.name, method=told.method or self.method))
        return Judgement(tuple(results), tuple(findings), insufficient)
