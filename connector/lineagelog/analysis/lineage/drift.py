"""What comparisons of a job with itself share: parameters, the numbers of a row, and how it was judged."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from lineagelog.analysis.declaration import Span, WholeNumber
from lineagelog.shown import counted, place

HISTORY: Final = Span(
    name="history",
    meaning="How far before the window the executions are looked at that a job is compared with.",
    default="30 days",
)
RUNS: Final = WholeNumber(
    name="runs",
    meaning="How many executions in a row must be without something before it is new or has vanished.",
    default="3",
    lowest=1,
    highest=9999,
)
METHOD: Final = "set difference between runs, with patience"


class Drift(Struct, frozen=True, kw_only=True):
    """A row: something that a job does for the first time, or no longer."""

    job_namespace: str
    job_name: str
    change: str
    """new, or what it is called when it is gone."""
    present: int
    """Runs with it."""
    without: int
    """Runs without it, before it was new or since it vanished."""
    runs: int
    """Runs compared."""
    shown_at: datetime
    """First event of the run that proves the change."""
    run_id: str
    """That run."""
    first_seen: datetime
    first_run_id: str
    last_seen: datetime
    last_run_id: str

    @property
    def job(self) -> str:
        """Namespace and name."""
        return place(self.job_namespace, self.job_name)

    @property
    def is_new(self) -> bool:
        """Whether it came, rather than went."""
        return self.change == "new"

    def judgement(self) -> dict[str, Any]:
        """The parts of a finding that say what was seen, on how many runs, and which ones prove it."""
        if self.is_new:
            return {
                "observed": f"in run {self.run_id}",
                "expected": f"absent, as in the {counted(self.without, 'runs')} before",
                "n": self.runs,
                "first_seen": self.first_seen,
                "last_seen": self.last_seen,
                "run_ids": (self.run_id,),
            }
        return {
            "observed": f"missing from run {self.run_id}",
            "expected": f"present, as in {counted(self.present, 'runs')}",
            "n": self.runs,
            "first_seen": self.shown_at,
            "last_seen": self.shown_at,
            "run_ids": (self.last_run_id, self.run_id),
        }
