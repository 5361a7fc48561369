"""Data scope: Egeria's service "Refine OpenLineage Data Scope" (`LovelaceOpenLineageDataScopeService`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from lineagelog.analysis import Analysis, Given, RawEvent, Result, Subject, SubjectResult

from .formulas import decimal, instant
from .shared import HISTORY, days_in, stamps
from .sighting import Name, Sighting, Touched, sightings

REPLACING: Final = frozenset(("OVERWRITE", "TRUNCATE", "CREATE"))
"""Changes of the life cycle after which nothing of before is left."""


class DatasetUse(Struct, frozen=True, kw_only=True):
    """A row: the writes and reads of a dataset in the window, one for each run. Times are milliseconds."""

    dataset_namespace: str | None
    dataset_name: str
    earliest: int
    """First event of the window, of whatever job."""
    writes: int
    writers: int
    first_write: int | None
    last_write: int | None
    replaced: int | None
    """Last write after which nothing of before is left."""
    is_partitioned: bool
    writes_with_rows: int
    rows: int
    max_rows: int | None
    versions: int
    reads: int
    readers: int
    last_read: int | None
    failed_writes: int
    """Writes of runs that came to nothing."""


def explain(rows: Iterable[DatasetUse], given: Given) -> Iterator[SubjectResult]:
    """The properties of each dataset."""
    for row in rows:
        days = days_in(given, row.earliest)
        properties = stamps(given, "Refine OpenLineage Data Scope") | _writes(row, days) | _reads(row, days)
        yield SubjectResult(
            subject=Subject("dataset", row.dataset_namespace or None, row.dataset_name),
            properties=properties,
            ours={"failed_writes": row.failed_writes} if row.writes else {},
        )


def _writes(row: DatasetUse, days: float) -> dict[str, str]:
    if not row.writes:
        return {}
    pattern = "REPLACED" if row.replaced is not None else "PARTITIONED" if row.is_partitioned else "APPENDED"
    told = {
        "dataCollectionStartTime": instant(row.first_write if row.replaced is None else row.replaced),
        "dataCollectionEndTime": instant(row.last_write),
        "writePattern": pattern,
        "writesInWindow": str(row.writes),
        "writersInWindow": str(row.writers),
        "writesPerDay": decimal(row.writes / days),
        "firstWriteInWindow": instant(row.first_write),
        "lastWriteInWindow": instant(row.last_write),
    }
    if row.writes_with_rows:
        told["meanRowsPerWrite"] = decimal(float(row.rows) / row.writes_with_rows)
        told["maxRowsPerWrite"] = str(max(0, row.max_rows or 0))
        told["rowsWrittenInWindow"] = str(row.rows)
    if row.versions:
        told["datasetVersionsInWindow"] = str(row.versions)
    return told


def _reads(row: DatasetUse, days: float) -> dict[str, str]:
    if not row.reads:
        return {}
    return {
        "readsInWindow": str(row.reads),
        "readersInWindow": str(row.readers),
        "readsPerDay": decimal(row.reads / days),
        "lastReadInWindow": instant(row.last_read),
    }


class _Record(Struct, frozen=True):
    """What a run did with a dataset, as the last event with authority tells it: nothing of earlier ones is kept."""

    time: int
    job: Name
    rows: int | None
    lifecycle: str | None
    is_subset: bool
    version: str | None


class _DatasetSeen(Struct):
    """The records of a dataset by run id: two jobs that share one make one record."""

    writes: dict[str, _Record]
    reads: dict[str, _Record]


def from_events(events: Iterable[RawEvent]) -> Iterator[DatasetUse]:
    """The rows as Egeria's file reader has them."""
    datasets: dict[Name, _DatasetSeen] = {}
    failures: dict[str, bool] = {}
    earliest = None
    for seen in sightings(events):
        earliest = seen.time if earliest is None else earliest
        if seen.type in ("START", "FAIL"):
            failures[seen.run_id] = seen.type == "FAIL"
        for is_write, touched in ((True, seen.outputs), (False, seen.inputs)):
            for each in touched:
                held = datasets.setdefault(each.dataset, _DatasetSeen({}, {}))
                _keep(held.writes if is_write else held.reads, seen, each)
    for name in sorted(datasets, key=lambda name: (name[0] or "", name[1])):
        yield _row(name, datasets[name], earliest or 0, failures)


def _keep(records: dict[str, _Record], seen: Sighting, each: Touched) -> None:
    if seen.run_id not in records or each.has_statistics or not seen.is_start:
        records[seen.run_id] = _Record(seen.time, seen.job, each.rows, each.lifecycle, each.is_subset, each.version)


def _row(name: Name, seen: _DatasetSeen, earliest: int, failures: dict[str, bool]) -> DatasetUse:
    writes, reads = seen.writes.values(), seen.reads.values()
    rows = [write.rows for write in writes if write.rows is not None]
    replacements = [write.time for write in writes if (write.lifecycle or "").upper() in REPLACING]
    return DatasetUse(
        dataset_namespace=name[0],
        dataset_name=name[1],
        earliest=earliest,
        writes=len(writes),
        writers=len({write.job for write in writes}),
        first_write=min((write.time for write in writes), default=None),
        last_write=max((write.time for write in writes), default=None),
        replaced=max(replacements, default=None),
        is_partitioned=any(write.is_subset for write in writes),
        writes_with_rows=len(rows),
        rows=sum(rows),
        max_rows=max(rows, default=None),
        versions=len({write.version for write in writes if write.version is not None}),
        reads=len(reads),
        readers=len({read.job for read in reads}),
        last_read=max((read.time for read in reads), default=None),
        failed_writes=sum(failures.get(run_id, False) for run_id in seen.writes),
    )


ANALYSIS: Final = Analysis(
    name="data_scope",
    question="Is each dataset replaced, partitioned or appended to, since when, how often, and who reads it?",
    about="Egeria's data scope, property by property, of the datasets that runs of the window wrote or read.",
    parameters=(HISTORY,),
    row=DatasetUse,
    explain=explain,
    from_events=from_events,
    is_as_of_its_end=True,
    result=Result.TABLE,
    columns=("writePattern", "writesInWindow", "lastWriteInWindow", "rowsWrittenInWindow", "readsInWindow"),
    example="--since -30d --json",
)
