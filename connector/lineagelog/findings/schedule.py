"""The schedule of recorded runs: which analyses `serve` asks by itself, how often, over which window."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct

from lineagelog.analysis import Analysis, analyses
from lineagelog.errors import SettingsError
from lineagelog.read import Window

_INTERVAL: Final = re.compile(r"([1-9][0-9]{0,4})([smhdw])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_ALL: Final = "all"
_OFF: Final = "off"


class Scheduled(Struct, frozen=True):
    """An analysis that is asked by itself."""

    analysis: Analysis[Any]
    every: timedelta


def read_schedule(intervals: Mapping[str, str]) -> list[Scheduled]:
    """What the settings' `[analyse.schedule]` says: a name and its interval each, `all` for all that are not named.

    Analyses that need a parameter cannot be asked so. Raises SettingsError that names the key.
    """
    every = {name.replace("-", "_"): _interval(name, text) for name, text in intervals.items()}
    known = {name: each for name, each in analyses().items() if not each.needs_a_parameter}
    if unknown := sorted(every.keys() - known.keys() - {_ALL}):
        can = ", ".join((_ALL, *known))
        raise SettingsError(
            f"'analyse.schedule.{unknown[0]}': no analysis that can be asked by itself; there are {can}"
        )
    found = {name: every.get(name, every.get(_ALL)) for name in known}
    return [Scheduled(known[name], interval) for name, interval in found.items() if interval is not None]


def _interval(name: str, text: str) -> timedelta | None:
    if text.strip().lower() == _OFF:
        return None
    if (match := _INTERVAL.fullmatch(text.strip())) is None:
        raise SettingsError(f"'analyse.schedule.{name}': write 15m (s, m, h, d, w) or off, not {text[:40]!r}")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def window_before(now: datetime, length: str) -> Window:
    """The window of a scheduled run: so long before now, written as an interval of the schedule."""
    span = _interval("window", length)
    assert span is not None  # noqa: S101  # the settings take no other text
    return Window(now - span, now)
