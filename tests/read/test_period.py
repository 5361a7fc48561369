"""Instants as people write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from lineagelog.errors import InputError
from lineagelog.read.period import parse_age, parse_end, parse_instant

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


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "7d",
        "-7y",
        "-999999w",
        "2026-13-01",
        "2026-03-01T",
        "-1.5d",
        "١",
        "-0d",
        "--5d",
        "-١d",
        "+5d",
        "- 5d",
    ],
)
def test_what_is_no_instant_says_what_would_be(text: str) -> None:
    """One line that shows the valid forms."""
    with pytest.raises(InputError, match="-7d"):
        parse_instant(text, NOW)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("90d", NOW - timedelta(days=90)),
        ("007h", NOW - timedelta(hours=7)),
        (" 5s ", NOW - timedelta(seconds=5)),
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-03-08T12:30:00Z", NOW),
    ],
)
def test_an_age(text: str, instant: datetime) -> None:
    """A distance before now, or a time."""
    assert parse_age(text, NOW) == instant


@pytest.mark.parametrize(
    "text",
    ["", "-5d", "+5d", "0d", "000s", "5", "5D", "1.5d", "1e3d", "5d 3h", "999999w", "now", "soon", "٥d", "-", "d"],
)
def test_what_is_no_age_deletes_nothing(text: str) -> None:
    """Signs, fractions, nothing, too much: refused, never guessed."""
    with pytest.raises(InputError, match="no age: write 90d"):
        parse_age(text, NOW)
    with pytest.raises(InputError, match="no span: write 90d"):
        parse_end(text, NOW)


def test_an_age_lies_behind_and_an_end_ahead() -> None:
    """The other way round neither is taken."""
    assert parse_end("90d", NOW) == NOW + timedelta(days=90)
    assert parse_end("2027-01-01", NOW) == datetime(2027, 1, 1, tzinfo=UTC)
    with pytest.raises(InputError, match="lies in the future"):
        parse_age("2026-03-08T12:30:01Z", NOW)
    with pytest.raises(InputError, match="lies in the past"):
        parse_end("2026-03-08T12:30:00Z", NOW)
