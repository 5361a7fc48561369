"""What becomes of a finding as recorded runs of its analysis find it, or find it no more. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from lineagelog.analysis import Finding, Subject


class FindingStatus(StrEnum):
    """What a finding is now."""

    OPEN = "OPEN"
    CLOSED = "CLOSED"
    SUPPRESSED = "SUPPRESSED"
    """Open, and muted by somebody; it is kept as OPEN, with the mute beside it."""


class News(StrEnum):
    """What there is to tell of a finding."""

    OPENED = "opened"
    REOPENED = "reopened"
    CLOSED = "closed"


class Look(Struct, frozen=True, kw_only=True):
    """A recorded run: who looked at what, and when."""

    question: UUID
    """Analysis and parameters."""
    start: datetime
    end: datetime
    """Of its window, and no later than ``at``."""
    at: datetime
    """When it was recorded."""
    is_whole: bool = True
    """Whether all of the window was read, and not only what arrived since the last time."""


class Episode(Struct, frozen=True, kw_only=True):
    """A finding as it is kept, but for what people said of it."""

    finding_id: UUID
    analysis: str
    question: UUID
    """The one that found it last."""
    subject: Subject
    severity: str
    status: FindingStatus
    first_seen: datetime
    last_seen: datetime
    """Of what happened."""
    judged_to: datetime
    """The end of the latest window that found or closed it."""
    content: Mapping[str, Any]
    opened_at: datetime
    recorded_at: datetime
    closed_from: datetime | None = None
    """The start of the window that closed it."""
    closed_at: datetime | None = None
    reopened: int = 0
    reopened_at: datetime | None = None
    news: News | None = None
    """Of this run."""


def found(known: Episode | None, finding: Finding, look: Look) -> Episode:
    """The finding was found: it is opened, goes on, or comes back.

    What an older window than the last one says of it moves its times alone. One that is closed comes back where the
    window that closed it began before it was seen again: what that window had left behind is no news.
    """
    if known is None:
        return _opened(finding, look)
    first, last = min(known.first_seen, finding.first_seen), max(known.last_seen, finding.last_seen)
    is_closed = known.status is FindingStatus.CLOSED
    was_left_behind = is_closed and known.closed_from is not None and finding.last_seen < known.closed_from
    if look.end < known.judged_to or was_left_behind:
        return replace(known, first_seen=first, last_seen=last, news=None)
    seen = replace(_opened(finding, look), first_seen=first, last_seen=last, opened_at=known.opened_at)
    if is_closed:
        return replace(seen, reopened=known.reopened + 1, reopened_at=look.at, news=News.REOPENED)
    return replace(seen, reopened=known.reopened, reopened_at=known.reopened_at, news=None)


def _opened(finding: Finding, look: Look) -> Episode:
    return Episode(
        finding_id=finding.finding_id,
        analysis=finding.analysis,
        question=look.question,
        subject=finding.subject,
        severity=finding.severity,
        status=FindingStatus.OPEN,
        first_seen=finding.first_seen,
        last_seen=finding.last_seen,
        judged_to=look.end,
        content=finding.document,
        opened_at=look.at,
        recorded_at=look.at,
        news=News.OPENED,
    )


def leaves_behind(known: Episode, look: Look) -> bool:
    """Whether the run closes the finding, which it did not find, only if the subject was active in its window."""
    return not look.is_whole or known.last_seen < look.start


def may_close(known: Episode, look: Look) -> bool:
    """Whether the run may close a finding that it did not find: the same question, of no older window.

    A run that read only what arrived since the last time must have left the finding behind.
    """
    is_same = known.status is FindingStatus.OPEN and known.question == look.question
    covers = known.last_seen < look.end and (look.is_whole or known.last_seen < look.start)
    return is_same and known.judged_to <= look.end and covers


def missed(known: Episode, look: Look, *, is_active: bool) -> Episode:
    """The finding was not found: it is closed where the window covers it.

    It does where the finding was last seen in it; or where the window begins later, and the subject was active in it.
    """
    if not may_close(known, look) or (leaves_behind(known, look) and not is_active):
        return replace(known, news=None)
    closed = {"status": FindingStatus.CLOSED, "closed_at": look.at, "closed_from": look.start}
    return replace(known, judged_to=look.end, news=News.CLOSED, **closed)
