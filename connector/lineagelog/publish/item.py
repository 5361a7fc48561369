"""An item of the plan: a wish, one thing that Egeria is to hold about one subject, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any
from uuid import UUID

from msgspec import Struct

from lineagelog.event.canonical import canonical, content_key, name_key


class PlanKind(StrEnum):
    """What Egeria is to hold, in the order in which it is sent."""

    ELEMENT = "element"
    """A job or dataset that Egeria does not know."""
    LOG = "log"
    """The log store itself, an asset that is a lineage log."""
    RUN_METRICS = "run_metrics"
    """Classification RunMetrics of a process: counts and rhythm of a job's runs."""
    DATA_SCOPE = "data_scope"
    """Classification DataScope of a data set: from when to when its data is, how it is written."""
    QUALITY_REPORT = "quality_report"
    """A survey report with a QualityAnnotation per dimension."""
    FINDINGS = "findings"
    """A survey report with a RequestForAction per finding."""
    INCIDENT = "incident"
    """An incident report of a finding that is critical."""
    LINEAGE = "lineage"
    """Data flow between a process and what it reads and writes."""

    @property
    def is_daily(self) -> bool:
        """Whether each day has its own, of which the last ones are kept."""
        return self is PlanKind.QUALITY_REPORT


class About(Struct, frozen=True):
    """Whom a wish is about, and how Egeria may know it."""

    kind: str
    """job, dataset, test (of the job or dataset of that name), or element: its name is a qualified name."""
    namespace: str
    name: str
    other_names: tuple[tuple[str, str], ...] = ()
    """Further names (namespace, name) of the same thing."""

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


class PlanItem(Struct, frozen=True, kw_only=True):
    """What Egeria is to hold. The same wish again has the same ``wish_id``, other content another ``content_hash``."""

    kind: PlanKind
    about: About
    day: str = ""
    """Of the window's end, for what is kept per day; a finding's id for an incident."""
    content: Mapping[str, Any]
    """JSON values; what they mean is the kind's."""

    @property
    def wish_id(self) -> UUID:
        """Of the kind, whom it is about, and the day."""
        return UUID(bytes=name_key(self.kind, self.about.kind, self.about.namespace, self.about.name, self.day))

    @property
    def content_hash(self) -> UUID:
        """Of the content's canonical JSON."""
        return UUID(bytes=content_key(canonical(dict(self.content))))
