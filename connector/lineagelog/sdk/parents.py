"""Which run a run belongs to: the enclosing one of this process, else the one that the environment names."""

from __future__ import annotations

import contextlib
import contextvars
import itertools
import os
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Protocol
from uuid import UUID

from openlineage.client.uuid import generate_static_uuid

from lineagelog.spec import run_and_job

from .facets import Facet, complete_facet
from .guard import guarded, warn_once

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True)
class RunRef:
    """A run and its job."""

    run_id: str
    namespace: str
    name: str

    def slashed(self) -> str:
        """``namespace/name/runId``, as `OPENLINEAGE_PARENT_ID` has it."""
        return f"{self.namespace}/{self.name}/{self.run_id}"

    def named(self) -> dict[str, Any]:
        """As the parent facet names it."""
        return run_and_job(self.run_id, self.namespace, self.name)


@dataclass(frozen=True)
class Ancestry:
    """The parent of a run and the root of the tree; None where there is none."""

    parent: RunRef | None = None
    root: RunRef | None = None

    def facet(self) -> Facet | None:
        """The parent run facet."""
        if self.parent is None:
            return None
        facet = self.parent.named()
        facet["root"] = (self.root or self.parent).named()
        return complete_facet("parent", facet, "Run")


class ActiveRun(Protocol):
    """What this module needs of a run that has started."""

    ref: RunRef
    ancestry: Ancestry
    outer: ActiveRun | None
    ended: bool
    process: int


_current: Final[contextvars.ContextVar[ActiveRun | None]] = contextvars.ContextVar("lineagelog_run", default=None)
_of_main_thread: Final[list[ActiveRun]] = []


def enclosing_run() -> ActiveRun | None:
    """The innermost run that has started in this context and not ended.

    A thread starts without its starter's context. There, the main thread's innermost run counts, provided that the
    main thread's runs are nested in one another (not several side by side, as the tasks of an event loop may have).
    """
    run = _current.get()
    while run is not None and run.ended:
        run = run.outer
    if run is not None or threading.current_thread() is threading.main_thread():
        return run
    runs = [run for run in _of_main_thread if not run.ended]
    nested = all(inner.outer is outer for outer, inner in itertools.pairwise(runs))
    return runs[-1] if runs and nested else None


def enter(run: ActiveRun) -> None:
    """From here on the run encloses what follows in this context."""
    _current.set(run)
    if threading.current_thread() is threading.main_thread():
        _of_main_thread.append(run)


def leave(run: ActiveRun) -> None:
    """The run has ended; where its context is left too, the one around it is current again."""
    run.ended = True
    if _current.get() is run:
        _current.set(run.outer)
    with contextlib.suppress(ValueError):  # entered in another thread
        _of_main_thread.remove(run)


def propagate[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Wrap a function for another thread: runs it starts there are children of the run that is current here and now."""
    run = enclosing_run()

    def inside(*args: P.args, **kwargs: P.kwargs) -> R:
        token = _current.set(run)
        try:
            return function(*args, **kwargs)
        finally:
            _current.reset(token)

    return inside


def ancestry_of(outer: ActiveRun | None) -> Ancestry:
    """The ancestry of a run that starts within ``outer``; the environment's if that is None."""
    if outer is None:
        return environment_ancestry(os.environ) or Ancestry()
    return Ancestry(outer.ref, outer.ancestry.root or outer.ancestry.parent or outer.ref)


@guarded("reading the parent run from the environment", None)
def environment_ancestry(environment: Mapping[str, str]) -> Ancestry | None:
    """The parent that whoever started this process names.

    In this order: ``OPENLINEAGE_PARENT_ID`` (namespace/name/runId; set for dbt and Spark by Airflow's macros), then
    ``OPENLINEAGE_PARENT_RUN_ID``, ``…_JOB_NAME``, ``…_JOB_NAMESPACE``, then Airflow's ``AIRFLOW_CTX_*``. The root
    likewise from ``OPENLINEAGE_ROOT_PARENT_*``.
    """
    parent = _from_variables(environment, "OPENLINEAGE_PARENT_")
    if parent is not None:
        return Ancestry(parent, _from_variables(environment, "OPENLINEAGE_ROOT_PARENT_") or parent)
    return _from_airflow(environment)


def _from_variables(environment: Mapping[str, str], prefix: str) -> RunRef | None:
    if slashed := environment.get(f"{prefix}ID"):
        namespace, name, run_id = ("", "", *slashed.rsplit("/", 2))[-3:]
        if not namespace:
            warn_once(f"lineage: {prefix}ID must be namespace/job/runId")
            return None
    else:
        run_id = environment.get(f"{prefix}RUN_ID", "")
        name = environment.get(f"{prefix}JOB_NAME", "")
        namespace = environment.get(f"{prefix}JOB_NAMESPACE") or environment.get("OPENLINEAGE_NAMESPACE") or "default"
        if not run_id or not name:
            return None
    try:
        return RunRef(str(UUID(run_id)), namespace, name)
    except ValueError:
        warn_once(f"lineage: the run id of {prefix}* is not a UUID")
        return None


def _from_airflow(environment: Mapping[str, str]) -> Ancestry | None:
    """The task that Airflow runs, by the rule of its OpenLineage provider.

    ``build_task_instance_run_id`` and ``build_dag_run_id`` of apache-airflow-providers-openlineage: time-ordered ids
    made from the logical date and the names. A mapped task's index and a cleared DAG run's count are not in the
    environment; there the macros and ``OPENLINEAGE_PARENT_ID`` are needed.
    """
    dag, task = environment.get("AIRFLOW_CTX_DAG_ID"), environment.get("AIRFLOW_CTX_TASK_ID")
    date = environment.get("AIRFLOW_CTX_LOGICAL_DATE") or environment.get("AIRFLOW_CTX_EXECUTION_DATE")
    if not dag or not task or not date:
        return None
    moment = datetime.fromisoformat(date)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    variables = ("AIRFLOW__OPENLINEAGE__NAMESPACE", "OPENLINEAGE_NAMESPACE")
    namespace = next((environment[name] for name in variables if environment.get(name)), "default")
    attempt = environment.get("AIRFLOW_CTX_TRY_NUMBER", "1")
    task_id = generate_static_uuid(moment, f"{namespace}.{dag}.{task}.{attempt}.-1".encode())
    dag_id = generate_static_uuid(moment, f"{namespace}.{dag}.0".encode())
    return Ancestry(RunRef(str(task_id), namespace, f"{dag}.{task}"), RunRef(str(dag_id), namespace, dag))
