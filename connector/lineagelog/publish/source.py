"""What is to be published now: asks the analyses over whole UTC days, and plans what they tell."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from lineagelog.analysis import Analysis
from lineagelog.postgres.database import Database
from lineagelog.read import Window
from lineagelog.read.analyses import TIME_LIMIT, ask

from .item import PlanItem
from .plan import plan


def whole_days(days: int, now: datetime) -> Window:
    """The last so many whole UTC days, up to the last midnight: what arrives late is told by a later pass."""
    end = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return Window(end - timedelta(days=days), end)


def wishes(
    database: Database,
    analyses: Sequence[Analysis[Any]],
    window: Window,
    *,
    as_of: datetime | None = None,
    time_limit: timedelta = TIME_LIMIT,
    incidents: bool = False,
) -> list[PlanItem]:
    """What the analyses tell of the window, planned. Raises what `ask` raises."""
    answers = [ask(database, analysis, window, as_of=as_of, time_limit=time_limit) for analysis in analyses]
    return plan([answer.document for answer in answers], incidents=incidents)
