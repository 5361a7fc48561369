"""A finding: what an analysis has to say of one subject, and everything needed to believe it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from msgspec import Struct
from msgspec.structs import asdict

from lineagelog.event.canonical import name_key


class Severity(StrEnum):
    """How much it matters, least first."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """Its place among them; a greater one matters more."""
        return list(Severity).index(self)


def place(namespace: str | None, name: str) -> str:
    """Namespace and name for people."""
    return f"{namespace}/{name}" if namespace else name


class Subject(Struct, frozen=True):
    """What a finding is about."""

    kind: str
    """job, dataset or column."""
    namespace: str | None
    name: str
    column: str | None = None

    def __str__(self) -> str:
        text = place(self.namespace, self.name)
        return f"{text}#{self.column}" if self.column else text


class Finding(Struct, frozen=True, kw_only=True):
    """One finding. Times are in UTC; what an analysis has no value for is None."""

    analysis: str
    subject: Subject
    change: str
    """What happened, in a word of the analysis' own; subject and change (with its detail) identify the finding."""
    detail: str
    observed: str
    expected: str
    lower: float | None = None
    upper: float | None = None
    score: float | None = None
    method: str
    n: int
    """How many runs the judgement rests on."""
    severity: Severity
    first_seen: datetime
    last_seen: datetime
    run_ids: tuple[str, ...]
    """Evidence: up to ten runs."""
    explanation: str
    """All of it in one sentence."""
    values: Mapping[str, Any] = {}
    """What else the analysis knows, by name."""

    @property
    def finding_id(self) -> UUID:
        """The same for the same finding, whenever and over whichever window it is found."""
        subject = self.subject
        parts = (self.analysis, subject.kind, subject.namespace, subject.name, subject.column, self.change, self.detail)
        return UUID(bytes=name_key(*parts))

    @property
    def document(self) -> dict[str, Any]:
        """For programs: all of it, what the analysis knows besides side by side with the rest."""
        fields = asdict(self)
        subject, values = fields.pop("subject"), fields.pop("values")
        about = {name: value for name, value in asdict(subject).items() if value is not None or name == "namespace"}
        return {"finding_id": str(self.finding_id), "subject": about, "status": "OPEN", **fields, **values}
