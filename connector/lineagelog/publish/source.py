"""What is to be published now: what the analyses tell of whole UTC days, and the findings of recorded runs; planned."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from lineagelog.analysis import Analysis
from lineagelog.postgres.database import Database
from lineagelog.read import Window
from lineagelog.read.analyses import ask, terms_of
from lineagelog.settings import Settings
from lineagelog.store.ledgers.finding_rows import FindingRows

from .item import PlanItem
from .plan import plan

_DAYS: Final = 30


def whole_days(now: datetime) -> Window:
    """The last thirty whole UTC days, up to the last midnight: what arrives late is told by a later pass."""
    end = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return Window(end - timedelta(days=_DAYS), end)


def wishes(
    database: Database,
    analyses: Sequence[Analysis[Any]],
    window: Window,
    settings: Settings,
    as_of: datetime | None = None,
) -> list[PlanItem]:
    """What the analyses tell of the window, planned, and recorded findings. Raises what `ask` raises."""
    terms = terms_of(settings.analyse)
    answers = [ask(database, analysis, window, as_of=as_of, terms=terms) for analysis in analyses]
    documents = with_recorded(database, [answer.document for answer in answers], window)
    return plan(documents, incidents=settings.egeria.incidents)


def with_recorded(database: Database, documents: Sequence[dict[str, Any]], window: Window) -> list[dict[str, Any]]:
    """The documents, and one of the recorded findings: those that are open, and those closed since the window began.

    Of a finding that is recorded, what is recorded holds; one that is muted is not told.
    """
    rows = FindingRows(database)
    kept = [row.document for row in rows.of_interest(window.start)]
    told = {str(finding["finding_id"]) for document in documents for finding in document["findings"]}
    known = {each["finding_id"] for each in kept} | rows.known(told)
    fresh = [
        {**each, "findings": [finding for finding in each["findings"] if str(finding["finding_id"]) not in known]}
        for each in documents
    ]
    recorded = {"analysis": "", "window": {"from": window.start, "to": window.end}, "results": [], "findings": kept}
    return [*fresh, recorded]
