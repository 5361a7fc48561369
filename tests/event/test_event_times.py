"""Event times: every spelling that producers use, to UTC, cut to microseconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineagelog.event.times import BadTimeError, _parse_unusual_time, parse_time, to_microseconds

EIGHT = datetime(2026, 3, 2, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-03-02T08:00:00Z", EIGHT),
        ("2026-03-02t08:00:00z", EIGHT),
        ("2026-03-02 08:00:00Z", EIGHT),
        ("2026-03-02T08:00Z", EIGHT),
        ("  2026-03-02T08:00:00Z\n", EIGHT),
        ("2026-03-02T08:00:00+00:00", EIGHT),
        ("2026-03-02T08:00:00+00:00Z", EIGHT),
        ("2026-03-02T08:00:00-00:00", EIGHT),
        ("2026-03-02T13:30:00+0530", EIGHT),
        ("2026-03-02T09:00:00+01", EIGHT),
        ("2026-03-02T03:00:00-05:00", EIGHT),
        ("2026-03-02T08:00:00.120Z[Europe/Lisbon]", EIGHT.replace(microsecond=120_000)),
        ("2026-03-02T09:00:00+01:00[Europe/Lisbon]", EIGHT),
        ("2026-07-02T09:00:00[Europe/Lisbon]", EIGHT.replace(month=7)),
        ("2026-03-02T08:00:00.5Z", EIGHT.replace(microsecond=500_000)),
        ("2026-03-02T08:00:00,5Z", EIGHT.replace(microsecond=500_000)),
        ("2026-03-02T08:00:00.000001+00:00Z", EIGHT.replace(microsecond=1)),
        ("2026-03-02T07:59:59.999999999Z", EIGHT - timedelta(microseconds=1)),
        ("2026-03-02T08:00:60Z", EIGHT.replace(microsecond=999_999, second=59)),
    ],
)
def test_a_time_with_a_zone_is_read_to_utc(text: str, time: datetime) -> None:
    """Offsets, Z, Java's zone suffix (an offset wins over it), lower case; fractions are cut, never rounded."""
    assert parse_time(text) == (time, True)
    assert parse_time(text)[0].tzinfo is UTC


@pytest.mark.parametrize(
    "suffix", ["", ".000", "[Nowhere/Atall]", "[../../etc/passwd]", "[/etc/passwd]", "[America]", "[\x00]", "[\ufffd]"]
)
def test_a_time_without_a_known_zone_is_taken_as_utc(suffix: str) -> None:
    """No zone, or a name that is no zone, is UTC, and the caller is told."""
    assert parse_time(f"2026-03-02T08:00:00{suffix}") == (EIGHT, False)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("2026-03-02", "a date without a time"),
        (" 2026-03-02 ", "a date without a time"),
        ("yesterday", "not an RFC 3339"),
        ("", "not an RFC 3339"),
        ("2026-W10-1T08:00:00Z", "not an RFC 3339"),
        ("20260302T080000Z", "not an RFC 3339"),
        ("2026-03-02T08Z", "not an RFC 3339"),
        ("1772438400", "not an RFC 3339"),
        ("2026-03-02T08:00:00Zulu", "not an RFC 3339"),
        ("\u0662\u0660\u0662\u0666-03-02T08:00:00Z", "not an RFC 3339"),
        ("2026-02-30T08:00:00Z", "day"),
        ("2026-03-02T25:00:00Z", "hour"),
        ("2026-03-02T08:00:00+25:00", "offset"),
        ("0000-03-02T08:00:00Z", "year"),
        ("0001-01-01T00:00:00+05:00", "out of range"),
        ("9999-12-31T23:59:59-05:00", "out of range"),
    ],
)
def test_what_is_no_time_is_refused_with_the_reason(text: str, reason: str) -> None:
    """A date only, other notations, impossible dates, and years beyond 1 to 9999."""
    with pytest.raises(BadTimeError, match=reason):
        parse_time(text)


@given(
    time=st.datetimes(min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 29)),  # noqa: DTZ001  # zoned below
    minutes=st.integers(-23 * 60, 23 * 60),
    precision=st.sampled_from(["auto", "seconds", "milliseconds", "microseconds"]),
    more_digits=st.sampled_from(["", "9", "999"]),
)
def test_what_is_written_is_read(time: datetime, minutes: int, precision: str, more_digits: str) -> None:
    """Any time at any offset comes back, however many digits follow the microseconds."""
    zoned = time.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    text = zoned.isoformat(timespec=precision)
    kept = datetime.fromisoformat(text)
    if more_digits and precision == "microseconds":
        text = text[:26] + more_digits + text[26:]
    assert parse_time(text) == (kept, True)


ODD = st.text(st.sampled_from("0123456789-:.,+TtZz [W]"), max_size=34)


@given(
    st.one_of(
        ODD,
        st.tuples(st.integers(0, 25), st.text(st.sampled_from("0123456789-+:.,TZz["), max_size=4)).map(
            lambda edit: "2026-03-02T08:00:00.12+01:00"[: edit[0]] + edit[1] + "2026-03-02T08:00:00.12+01:00"[edit[0] :]
        ),
    )
)
def test_the_fast_way_says_what_the_careful_way_says(text: str) -> None:
    """For every text both give the same time or both refuse."""

    def outcome(read: object) -> object:
        try:
            return read(text)  # type: ignore[operator]
        except BadTimeError:
            return None

    assert outcome(parse_time) == outcome(_parse_unusual_time)


def test_microseconds_are_exact_in_both_directions_of_time() -> None:
    """Integer arithmetic, no floats."""
    assert to_microseconds(datetime(1970, 1, 1, tzinfo=UTC)) == 0
    assert to_microseconds(datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)) == -1
    assert to_microseconds(datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)) == 253_402_300_799_999_999
