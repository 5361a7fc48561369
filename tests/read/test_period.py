"""Instants as people write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from lineagelog.errors import InputError
from lineagelog.read.period import parse_instant

NOW = datetime(2026, 3, 8, 12, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("now", NOW),
        ("-7d", NOW - timedelta(days=7)),
        ("-2w", NOW - timedelta(weeks=2)),
        ("-12h", NOW - timedelta(hours=12)),
        ("-90m", NOW - timedelta(minutes=90)),
        ("-5s", NOW - timedelta(seconds=5)),
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-03-01T08:00:00Z", datetime(2026, 3, 1, 8, tzinfo=UTC)),
        ("2026-03-01T08:00", datetime(2026, 3, 1, 8, tzinfo=UTC)),
        ("2026-03-01 08:00:00", datetime(2026, 3, 1, 8, tzinfo=UTC)),
        ("2026-03-01T08:00:00+02:00", datetime(2026, 3, 1, 6, tzinfo=UTC)),
        ("2026-03-01T08:00:00 02:00", datetime(2026, 3, 1, 6, tzinfo=UTC)),
    ],
)
def test_forms_of_an_instant(text: str, instant: datetime) -> None:
    """Distances from now, dates, date-times; a plus that a URL made a space of is understood."""
    assert parse_instant(text, NOW) == instant


@pytest.mark.parametrize("text", ["", "yesterday", "7d", "-7y", "-999999w", "2026-13-01", "2026-03-01T", "-1.5d", "١"])
def test_what_is_no_instant_says_what_would_be(text: str) -> None:
    """One line that shows the valid forms."""
    with pytest.raises(InputError, match="-7d"):
        parse_instant(text, NOW)
