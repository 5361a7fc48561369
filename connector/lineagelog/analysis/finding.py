"""What an analysis tells: findings, each with everything needed to believe it, and the properties of subjects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from math import inf
from typing import Any, Final
from uuid import UUID

from msgspec import Struct
from msgspec.structs import asdict

from lineagelog.event.canonical import name_key
from lineagelog.shown import place


class Severity(StrEnum):
    """How much a finding matters, least first; one rule for all analyses, by what is to be done.

    low: a change or a waste to know of, nothing is wrong by itself. medium: unusual, somebody should look at it in the
    days that follow. high: something is broken or late, or its readers will break. critical: high, and it goes on, or
    reaches what many read; or a secret is open.
    """

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """Its place among them; a greater one matters more."""
        return list(Severity).index(self)

    @staticmethod
    def by_excess(excess: float) -> Severity:
        """Of what lies outside a band: how many times as far from what is expected as is still allowed (1 and more)."""
        return next(severity for severity, least in _EXCESS if excess >= least)


_EXCESS: Final = (
    (Severity.CRITICAL, 6.0),
    (Severity.HIGH, 3.0),
    (Severity.MEDIUM, 1.5),
    (Severity.LOW, -inf),
)


class Subject(Struct, frozen=True):
    """What is told of."""

    kind: str
    """job, dataset, column (of a dataset) or test (of the dataset or job that it tests)."""
    namespace: str | None
    name: str
    column: str | None = None
    test: str | None = None

    def __str__(self) -> str:
        text = place(self.namespace, self.name)
        text = f"{text}#{self.column}" if self.column else text
        return f"{self.test} of {text}" if self.test else text

    @property
    def document(self) -> dict[str, Any]:
        """For programs: without the column and the test that it does not have."""
        return {name: value for name, value in asdict(self).items() if value is not None or name == "namespace"}


class Finding(Struct, frozen=True, kw_only=True):
    """One finding. Times are in UTC and of what happened; what an analysis has no value for is None."""

    subject: Subject
    change: str
    """What happened, in a word of the analysis' own."""
    detail: str = ""
    """Tells episodes of one subject and change apart, such as the run it began with; nothing that moves meanwhile."""
    severity: Severity
    observed: str
    expected: str
    lower: float | None = None
    """Of the band that was expected, in the unit of `observed`."""
    upper: float | None = None
    score: float | None = None
    method: str = ""
    """How it was judged; that of the analysis where it has one for all."""
    n: int
    """How many runs the judgement rests on."""
    first_seen: datetime
    last_seen: datetime
    run_ids: Sequence[str]
    """Evidence: up to ten runs."""
    explanation: str
    """All of it in one sentence."""
    values: Mapping[str, Any] = {}
    """What else the analysis knows, by name."""
    analysis: str = ""
    """Whoever asks the analysis fills it in."""

    @property
    def finding_id(self) -> UUID:
        """The same for the same finding, whenever and over whichever window it is found."""
        about = self.subject
        subject = (about.kind, about.namespace, about.name, about.column)
        tested = () if about.test is None else (about.test,)
        return UUID(bytes=name_key(self.analysis, *subject, *tested, self.change, self.detail))

    @property
    def document(self) -> dict[str, Any]:
        """For programs: all of it, what the analysis knows besides side by side with the rest."""
        fields = {name: getattr(self, name) for name in self.__struct_fields__ if name not in ("subject", "values")}
        first = {"finding_id": str(self.finding_id), "analysis": self.analysis, "subject": self.subject.document}
        told = {**first, "severity": self.severity, "status": "OPEN", **fields}
        return told | {name: value for name, value in self.values.items() if name not in told}


class SubjectResult(Struct, frozen=True, kw_only=True):
    """What an analysis that gives a table says of one subject: texts by name, as Egeria's services write them."""

    subject: Subject
    properties: Mapping[str, str]
    """A property that has no value is not there."""
    typed: Mapping[str, Any] | None = None
    """Attributes of Egeria's own type, by name: numbers, texts, times as texts."""
    annotations: Sequence[Mapping[str, Any]] | None = None
    report: Mapping[str, str] | None = None
    """Texts of the report that the annotations belong to."""
    ours: Mapping[str, Any] = {}
    """Numbers that Egeria's services do not have, under names of our own."""

    @property
    def document(self) -> dict[str, Any]:
        """For programs."""
        told: dict[str, Any] = {"subject": self.subject.document, "properties": self.properties}
        more: dict[str, Any] = {
            "typed": self.typed,
            "annotations": self.annotations,
            "report": self.report,
            "ours": self.ours or None,
        }
        return told | {name: value for name, value in more.items() if value is not None}


class Insufficient(Struct, frozen=True):
    """There is too little history to judge a subject: counted, and no row."""

    subjects: int = 1


type Told = Finding | SubjectResult | Insufficient
"""What an analysis may say."""
