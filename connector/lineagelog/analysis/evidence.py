"""Rows that are findings but for the judgement: they name the subject, and which runs prove how much, when."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

from msgspec import Struct

from .declaration import Given
from .finding import Subject, Told


class Evidence(Struct, frozen=True, kw_only=True):
    """A row. What a class of rows has beside the subject and these stands with its findings as further values."""

    n: int
    """How many runs the judgement rests on."""
    first_seen: datetime
    last_seen: datetime
    run_ids: list[str]

    @property
    def subject(self) -> Subject:
        """What the row is about."""
        raise NotImplementedError

    @property
    def evidence(self) -> dict[str, Any]:
        """The members of a Finding that the row brings: `Finding(..., **row.evidence)`."""
        spent = {
            name
            for base in type(self).__mro__
            if base.__module__ == __name__
            for name in getattr(base, "__struct_fields__", ())
        }
        own = {name: getattr(self, name) for name in self.__struct_fields__ if name not in spent}
        return {
            "subject": self.subject,
            "n": self.n,
            "first_seen": self.first_seen,
            "last_seen": self.last_seen,
            "run_ids": tuple(self.run_ids[:10]),
            "values": {
                name: None if value == "" and name.endswith("namespace") else value for name, value in own.items()
            },
        }


class JobEvidence(Evidence, frozen=True, kw_only=True):
    """A row about a job."""

    job_namespace: str
    job_name: str

    @property
    def subject(self) -> Subject:
        """The job."""
        return Subject("job", self.job_namespace or None, self.job_name)


class DatasetEvidence(Evidence, frozen=True, kw_only=True):
    """A row about a dataset."""

    dataset_namespace: str
    dataset_name: str

    @property
    def subject(self) -> Subject:
        """The dataset."""
        return Subject("dataset", self.dataset_namespace or None, self.dataset_name)


def each[Row](judge: Callable[[Row], Told | None]) -> Callable[[Iterable[Row], Given], Iterator[Told]]:
    """For analyses that judge row by row: `explain=each(judge)`; None says nothing of a row."""

    def explain(rows: Iterable[Row], _: Given) -> Iterator[Told]:
        return (told for row in rows if (told := judge(row)) is not None)

    return explain
