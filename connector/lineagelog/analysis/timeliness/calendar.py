"""Holidays: days that the jobs of working days keep together, and no setting tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from lineagelog.analysis.maths.schedule import Slot
from lineagelog.analysis.maths.season import DAY

_SHARE: Final = 0.3
_FEWEST: Final = 3


class Calendar:
    """Days on which many jobs of working days had no run at all: on these nothing of such jobs is missing."""

    def __init__(self) -> None:
        """Before anything was seen."""
        self._expected: Counter[int] = Counter()
        self._empty: Counter[int] = Counter()

    def see(self, slots: Sequence[Slot]) -> None:
        """Count the days of a job."""
        days = _days_of(slots)
        if _is_of_working_days(slots):
            self._expected.update(days.keys())
            self._empty.update(day for day, taken in days.items() if not taken)

    def is_free(self, slot: Slot, slots: Sequence[Slot]) -> bool:
        """Whether a slot is of a holiday, given all slots of its job."""
        day = int(slot.due // DAY)
        if slot.came is not None or self._empty[day] < max(_FEWEST, _SHARE * self._expected[day]):
            return False
        return _is_of_working_days(slots) and not _days_of(slots)[day]


def _days_of(slots: Sequence[Slot]) -> dict[int, int]:
    """How many slots of each day were taken."""
    days: dict[int, int] = {}
    for slot in slots:
        day = int(slot.due // DAY)
        days[day] = days.get(day, 0) + (slot.came is not None)
    return days


def _is_of_working_days(slots: Sequence[Slot]) -> bool:
    return all(int(slot.due // DAY + 3) % 7 < 5 for slot in slots)
