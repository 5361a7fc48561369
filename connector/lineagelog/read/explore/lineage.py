"""The lineage as of a time: which jobs read and write which datasets, in memory, as their last executions have it.

It is made of the last executions of each job, so that it costs what there are of jobs, however many events there were.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from datetime import datetime
from threading import Lock
from typing import Any, Final

from msgspec import Struct, field

from .executions import ALL, instant, key_of, state_of
from .scripts import Asking

KEPT: Final = 8
"""Lineages in memory."""
_FRESH: Final = 10.0
"""Seconds for which the lineage of now is told again."""
WORST: Final = ("failed", "stale", "stuck", "late", "running", "fixed", "aborted", "completed", "none")
"""States of nodes, worst first."""
_SAID: Final = {
    "schema_drift": "schema changed",
    "column_lineage_drift": "column lineage changed",
    "lineage_drift": "lineage changed",
    "stale_dataset": "not written in time",
    "volume_anomaly": "unusual volume",
    "test_failure_streak": "test fails",
    "late_run": "late",
    "stuck_run": "stuck",
}
"""What findings make of the state of a job or dataset."""


class LineageRow(Struct, frozen=True, kw_only=True):
    """A job and a dataset that its last executions touched."""

    job: str
    is_visible: bool
    direction: str | None
    dataset: str | None
    job_namespace: str | None
    job_name: str | None
    dataset_namespace: str | None
    dataset_name: str | None
    at: datetime
    is_pipeline: bool
    outcome: str
    is_fixed: bool
    run_id: str
    rows: int | None
    bytes: int | None
    is_last: bool
    """Whether the last execution touched it."""
    good_at: datetime | None
    schema_hash: str | None
    lineage_hash: str | None


class SaidOf(Struct, frozen=True, kw_only=True):
    """An open finding, as far as a node tells of it."""

    kind: str
    namespace: str
    name: str
    analysis: str
    severity: str


class LineageNode(Struct, kw_only=True):
    """A job or a dataset."""

    id: str
    kind: str
    namespace: str
    name: str
    state: str = "none"
    said: str = ""
    """What makes its state, in a few words."""
    at: datetime | None = None
    """Of its last execution, or write."""
    run_id: str | None = None
    rows: int | None = None
    bytes: int | None = None
    hidden: int = 0
    """Jobs at it that the asker must not see."""
    schema_hash: str | None = None
    lineage_hash: str | None = None
    is_pipeline: bool = False
    findings: int = 0


class LineageEdge(Struct, frozen=True):
    """Data that went from a job to a dataset, or from a dataset to a job."""

    a: str
    b: str
    is_announced: bool = False
    """It was to be written, and the execution failed."""


class LineageMap(Struct):
    """All nodes by id, and their edges."""

    nodes: dict[str, LineageNode] = field(default_factory=dict)
    edges: dict[tuple[str, str], LineageEdge] = field(default_factory=dict)
    below: dict[str, list[str]] = field(default_factory=dict)
    above: dict[str, list[str]] = field(default_factory=dict)
    jobs: int = 0
    """That were looked at."""

    def find(self, kind: str, namespace: str, name: str) -> LineageNode | None:
        """A node by its name; a dataset by its shown one, or the identity of its key."""
        node = self.nodes.get(f"{kind}:{key_of(namespace, name)}")
        if node is not None:
            return node
        same = (each for each in self.nodes.values() if each.kind == kind and each.name == name)
        return next((each for each in same if each.namespace == namespace), None)

    def connect(self, a: str, b: str, *, is_announced: bool) -> None:
        """Keep an edge."""
        if (a, b) not in self.edges:
            self.below.setdefault(a, []).append(b)
            self.above.setdefault(b, []).append(a)
        self.edges[a, b] = LineageEdge(a, b, is_announced)


def read_lineage(asking: Asking, as_of: datetime) -> LineageMap:
    """The lineage as it was then."""
    rows = asking.rows("lineage", LineageRow, {"as_of": instant(as_of)})
    said = asking.rows("said", SaidOf, {})
    return made(rows, said)


def made(rows: Sequence[LineageRow], said: Iterable[SaidOf]) -> LineageMap:
    """The lineage of such rows; datasets that no job of the asker touches are not in it."""
    lineage = LineageMap()
    for row in rows:
        if row.is_visible:
            _add(lineage, row)
    hidden: dict[str, set[str]] = {}
    for row in rows:
        if not row.is_visible and row.dataset is not None and f"dataset:{row.dataset}" in lineage.nodes:
            hidden.setdefault(f"dataset:{row.dataset}", set()).add(row.job)
    for key, jobs in hidden.items():
        lineage.nodes[key].hidden = len(jobs)
    _say(lineage, said)
    lineage.jobs = sum(1 for node in lineage.nodes.values() if node.kind == "job")
    return lineage


def _add(lineage: LineageMap, row: LineageRow) -> None:
    job_id = f"job:{row.job}"
    job = lineage.nodes.get(job_id)
    if job is None:
        job = LineageNode(id=job_id, kind="job", namespace=row.job_namespace or "", name=row.job_name or "")
        lineage.nodes[job_id] = job
    if job.at is None or row.at >= job.at:
        job.at, job.run_id, job.is_pipeline = row.at, row.run_id, row.is_pipeline
        job.state = state_of(row.outcome, was_failed=row.is_fixed)
    if row.dataset is None:
        return
    key = f"dataset:{row.dataset}"
    dataset = lineage.nodes.get(key)
    if dataset is None:
        dataset = LineageNode(
            id=key, kind="dataset", namespace=row.dataset_namespace or "", name=row.dataset_name or ""
        )
        lineage.nodes[key] = dataset
    is_output = row.direction == "O"
    failed = row.outcome in ("FAIL", "ABORT")
    if is_output:
        _written(dataset, row, failed=failed)
        lineage.connect(job_id, key, is_announced=failed and row.is_last)
    else:
        dataset.schema_hash = dataset.schema_hash or row.schema_hash
        lineage.connect(key, job_id, is_announced=False)


def _written(dataset: LineageNode, row: LineageRow, *, failed: bool) -> None:
    """What the last write tells of the dataset."""
    if dataset.at is not None and row.at < dataset.at:
        return
    dataset.at, dataset.run_id = row.good_at if failed else row.at, row.run_id
    dataset.rows, dataset.bytes = row.rows, row.bytes
    dataset.schema_hash = row.schema_hash or dataset.schema_hash
    dataset.lineage_hash = row.lineage_hash or dataset.lineage_hash
    dataset.state, dataset.said = ("stale", "not written") if failed else ("completed", "")


def _say(lineage: LineageMap, said: Iterable[SaidOf]) -> None:
    """Let open findings speak of the nodes."""
    for each in said:
        node = lineage.nodes.get(f"{'job' if each.kind == 'job' else 'dataset'}:{key_of(each.namespace, each.name)}")
        if node is None:
            continue
        node.findings += 1
        words = _SAID.get(each.analysis)
        if words is None or node.state == "failed":
            continue
        state = {"late_run": "late", "stuck_run": "stuck"}.get(each.analysis, "stale")
        if node.kind == "dataset" or each.analysis in ("late_run", "stuck_run"):
            node.state, node.said = state, words


class Lineages:
    """The lineages that were asked for last. Safe for many threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Any, tuple[float, LineageMap]] = OrderedDict()
        self._lock = Lock()

    def get(self, asking: Asking, as_of: datetime | None) -> LineageMap:
        """The lineage of now, at most some seconds old, or as of a time."""
        within = asking.bound.namespaces
        key = (None if within is None else tuple(within), as_of)
        now = time.monotonic()
        with self._lock:
            found = self._kept.get(key)
            if found is not None and now - found[0] < _FRESH:
                return found[1]
        lineage = read_lineage(asking, as_of or ALL.end)
        with self._lock:
            self._kept[key] = (time.monotonic(), lineage)
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return lineage
