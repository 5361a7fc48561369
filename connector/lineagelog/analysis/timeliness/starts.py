"""Rows that tell when the runs of a job started, and which runs those of the window are."""

from __future__ import annotations

from msgspec import Struct

from lineagelog.analysis import Subject


class JobStarts(Struct, frozen=True, kw_only=True):
    """When the runs of a job started, seconds since 1970, oldest first."""

    job_namespace: str
    job_name: str
    times: list[float]
    run_ids: list[str] | None
    """Of those from the window on, which are the last."""

    @property
    def subject(self) -> Subject:
        """The job."""
        return Subject("job", self.job_namespace or None, self.job_name)

    @property
    def before(self) -> int:
        """How many started before the window."""
        return len(self.times) - len(self.run_ids or [])

    def run_id(self, place: int) -> str | None:
        """That of a start from the window on."""
        return (self.run_ids or [])[place - self.before] if place >= self.before else None
