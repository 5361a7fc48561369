"""Figures for people: no exponents, no "1 runs"."""

from __future__ import annotations

from datetime import timedelta

import pytest

from lineagelog.shown import counted, duration, place, size


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0 s"),
        (0.00008, "80 µs"),
        (0.000001, "1 µs"),
        (0.0125, "12.5 ms"),
        (0.9999, "1000 ms"),
        (1, "1 s"),
        (1.4567, "1.46 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min"),
        (200, "3 min 20 s"),
        (7500, "2 h 5 min"),
        (7205, "2 h 5 s"),
        (4 * 86400 + 7200, "4 d 2 h"),
        (-90, "-1 min 30 s"),
        (-0.25, "-250 ms"),
    ],
)
def test_spans_of_time(seconds: float, shown: str) -> None:
    """In the unit that leaves a number of few digits."""
    assert duration(timedelta(seconds=seconds)) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (812, "812 bytes"),
        (1023, "1,023 bytes"),
        (1536, "1.5 KiB"),
        (1024**2 - 1, "1 MiB"),
        (3.2 * 1024**3, "3.2 GiB"),
        (5000 * 1024**4, "5000 TiB"),
        (50000 * 1024**4, "50,000 TiB"),
    ],
)
def test_sizes(count: float, shown: str) -> None:
    """In units of 1,024; never 1024 of one."""
    assert size(count) == shown


def test_numbers_of_things() -> None:
    """One is not many, and thousands are set apart."""
    assert [counted(count, "runs") for count in (0, 1, 2, 12400)] == ["0 runs", "1 run", "2 runs", "12,400 runs"]


@pytest.mark.parametrize(
    ("namespace", "name", "told"),
    [
        ("shop", "orders", "shop/orders"),
        ("s3://bucket", "a/b", "s3://bucket/a/b"),
        ("hdfs://host:8020", "/a", "hdfs://host:8020/a"),
        ("file", "/srv/a", "file:/srv/a"),
        ("", "a", "a"),
        (None, "/a", "/a"),
    ],
)
def test_namespace_and_name_as_one(namespace: str | None, name: str, told: str) -> None:
    """No slash comes twice."""
    assert place(namespace, name) == told
