"""`lineage_run` and `emit_lineage`: a START on entry, one terminal event on exit, and never a problem for the job."""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import threading
import weakref
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, cast

from lineagelog.sdk.delivery.emitter import Emitter, emitter
from lineagelog.sdk.delivery.process import is_child
from lineagelog.shown import mask_text, mask_tree

from . import events, parents
from .connectors import add_schemas
from .datasets import Datasets
from .events import EventType
from .facets import Facet, complete_facet, engine_facet, error_facet, job_type_facet
from .guard import describe, guarded, warn_once
from .parents import Ancestry, RunRef
from .template import Template, load_template

if TYPE_CHECKING:
    from types import TracebackType

    from lineagelog.spec import Holder

type Parent = LineageRun | RunRef | bool | None

_runs: Final[weakref.WeakSet[LineageRun]] = weakref.WeakSet()


def _own_locks() -> None:
    """After a fork: a thread of the parent's may have held a run's lock, and there is none here to give it back."""
    for run in list(_runs):
        run._lock = threading.RLock()


os.register_at_fork(after_in_child=_own_locks)

_ABORTS: Final = (KeyboardInterrupt, asyncio.CancelledError, GeneratorExit)


class LineageRun:
    """A run under way: its id, and what can be said of it until it ends. No method raises."""

    def __init__(self, plan: lineage_run, outer: parents.ActiveRun | None, ancestry: Ancestry) -> None:
        """Made by `lineage_run`."""
        config = plan.emitter.config
        template = plan.template
        namespace = plan.namespace or template.namespace or config.namespace
        datasets_namespace = plan.dataset_namespace or config.dataset_namespace or namespace
        self.ref = RunRef(_safe_run_id(plan.run_id), namespace, plan.job_name or template.name or "unknown")
        self.ancestry = ancestry
        self.outer = outer
        self.ended = False
        self.terminated = False
        """Whether the terminal event was emitted."""
        self.process = os.getpid()
        self._owned = False
        self._plan = plan
        self._connector = plan.connector
        self._lock = threading.RLock()
        _runs.add(self)
        self._began = ""
        self._inputs = Datasets("inputs", datasets_namespace)
        self._outputs = Datasets("outputs", datasets_namespace)
        for side, given, designed in (
            (self._inputs, plan.inputs, template.inputs),
            (self._outputs, plan.outputs, template.outputs),
        ):
            side.add_all(designed)
            side.add_all(given)
        self._run_facets: dict[str, Facet] = {"processing_engine": engine_facet()}
        self._job_facets: dict[str, Facet] = {"jobType": job_type_facet()}
        for origin in (template, plan):
            _add_facets(self._run_facets, origin.run_facets, "Run")
            _add_facets(self._job_facets, origin.job_facets, "Job")
        if parent := ancestry.facet():
            self._run_facets["parent"] = parent

    @property
    def run_id(self) -> str:
        """The run's UUID."""
        return self.ref.run_id

    @property
    def job_name(self) -> str:
        """The job's name."""
        return self.ref.name

    @property
    def namespace(self) -> str:
        """The job's namespace."""
        return self.ref.namespace

    def environment(self) -> dict[str, str]:
        """Environment variables that make the runs of another process children of this one."""
        root = self.ancestry.root or self.ancestry.parent or self.ref
        return {"OPENLINEAGE_PARENT_ID": self.ref.slashed(), "OPENLINEAGE_ROOT_PARENT_ID": root.slashed()}

    @guarded("adding an input", None)
    def add_input(self, dataset: Any, *, rows: Any = None, size: Any = None, files: Any = None) -> None:
        """Add a dataset that was read: a name, dict or helper, and how many rows, bytes and files were read of it."""
        with self._lock:
            self._inputs.statistics(self._inputs.add(dataset), rows, size, files)

    @guarded("adding an output", None)
    def add_output(self, dataset: Any, *, rows: Any = None, size: Any = None, files: Any = None) -> None:
        """Add a dataset that was written: a name, dict or helper, and how many rows, bytes and files were written."""
        with self._lock:
            self._outputs.statistics(self._outputs.add(dataset), rows, size, files)

    @guarded("setting a row count", None)
    def row_count(self, name: str, rows: Any, *, size: Any = None, files: Any = None) -> None:
        """Say how many rows (bytes, files) of a dataset were written; read, if it is an input only."""
        with self._lock:
            for side in (self._outputs, self._inputs):
                if dataset := side.find(name):
                    side.statistics(dataset, rows, size, files)
                    return
        warn_once(f"lineage: there is no input or output {name!r} to count rows of")

    @guarded("adding a facet", None)
    def add_run_facet(self, key: str, facet: Any) -> None:
        """Add or replace a facet of the run."""
        with self._lock:
            self._run_facets[key] = complete_facet(key, facet, "Run")

    @guarded("adding a facet", None)
    def add_job_facet(self, key: str, facet: Any) -> None:
        """Add or replace a facet of the job."""
        with self._lock:
            self._job_facets[key] = complete_facet(key, facet, "Job")

    @guarded("adding a facet", None)
    def add_dataset_facet(self, name: str, key: str, facet: Any) -> None:
        """Add or replace a facet of a dataset, as input and as output."""
        found = False
        with self._lock:
            for side in (self._inputs, self._outputs):
                if dataset := side.find(name):
                    side.add({"namespace": dataset["namespace"], "name": name, "facets": {key: facet}})
                    found = True
        if not found:
            warn_once(f"lineage: there is no input or output {name!r} to add a facet to")

    def running(self) -> None:
        """Emit a RUNNING event with what is known so far: a sign of life of a long job."""
        if not self.ended:
            self.emit(EventType.RUNNING)

    # --- for lineage_run --------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Emit START."""
        self._began = events.event_time()
        self._owned = True
        self.emit(EventType.START, self._began)

    def end(self, problem: BaseException | None) -> None:
        """Emit the terminal event that the outcome of the body asks for; in a forked copy of the run, nothing."""
        if self.process != os.getpid():
            return
        kind, described = _outcome(problem)
        with self._lock:
            if described is not None:
                self._run_facets["errorMessage"] = described
            if kind is EventType.COMPLETE and (connector := self._connector) is not None:
                self._connector = None  # once, though the user interrupts it
                add_schemas(connector, self._inputs, self._outputs, self._plan.emitter.config.lookup_timeout)
        self.emit(kind, self._end_time())
        self.terminated = True
        if self.is_outermost():
            self.wait()

    def is_outermost(self) -> bool:
        """Whether no run of this process encloses it; one that was inherited by a fork is the parent's to end."""
        return self.outer is None or self.outer.process != self.process

    def _end_time(self) -> str:
        """Now; never before the start, whatever happens to the system's clock."""
        return max(events.event_time(), self._began)

    @guarded("waiting for the delivery of events", None)
    def wait(self) -> None:
        """Wait for the delivery where it is wanted, and where the process may be gone at any moment."""
        if (seconds := self._plan.emitter.config.wait) > 0:
            self._plan.emitter.flush(seconds)
        elif is_child():
            self._plan.emitter.settle()

    @guarded("emitting an event", None)
    def emit(self, kind: EventType, moment: str | None = None) -> None:
        """Emit an event with what is known so far, credentials masked."""
        with self._lock:
            event = events.run_event(
                kind,
                moment or events.event_time(),
                events.run_part(self.ref.run_id, mask_tree(self._run_facets)),
                events.job_part(mask_text(self.ref.namespace), mask_text(self.ref.name), mask_tree(self._job_facets)),
                mask_tree(self._inputs.snapshot(self._inputs)),
                mask_tree(self._outputs.snapshot(self._inputs)),
            )
        self._plan.emitter.emit(event, owned=self._owned and self.process == os.getpid())


@guarded("reading facets", None)
def _add_facets(to: dict[str, Facet], given: Mapping[str, Any] | None, holder: Holder) -> None:
    for key, facet in (given or {}).items():
        try:
            to[str(key)] = complete_facet(str(key), facet, holder)
        except Exception as problem:
            warn_once(f"lineage: a facet is left out: {describe(problem)}")


def outcome(problem: BaseException | None) -> tuple[EventType, Facet | None]:
    """The terminal event type for what a body ended with, and the errorMessage facet of a failure."""
    if problem is None:
        return EventType.COMPLETE, None
    if isinstance(problem, SystemExit):
        succeeded = problem.code is None or (isinstance(problem.code, int) and problem.code == 0)
        return (EventType.COMPLETE, None) if succeeded else (EventType.FAIL, error_facet(problem))
    aborted = isinstance(problem, _ABORTS) or (
        isinstance(problem, BaseExceptionGroup) and problem.split(_ABORTS)[1] is None
    )
    return (EventType.ABORT, None) if aborted else (EventType.FAIL, error_facet(problem))


@guarded("telling how a run ended", (EventType.FAIL, None))
def _outcome(problem: BaseException | None) -> tuple[EventType, Facet | None]:
    return outcome(problem)


class lineage_run:  # noqa: N801 - used as a function: `with lineage_run(...)`, `@lineage_run(...)`
    """Track a job's run: START on entry, COMPLETE, FAIL or ABORT on exit.

    A context manager (``with`` and ``async with``, gives the `LineageRun`) and a decorator of functions, coroutine
    functions and generators (a new run for each call). Errors in lineage are logged once and never reach the job; the
    job's own errors go on unchanged.
    """

    def __init__(
        self,
        job_name: str | None = None,
        inputs: Any = None,
        outputs: Any = None,
        run_id: str | None = None,
        job_facets: Mapping[str, Any] | None = None,
        connector: Any = None,
        *,
        run_facets: Mapping[str, Any] | None = None,
        template: Any = None,
        namespace: str | None = None,
        dataset_namespace: str | None = None,
        parent: Parent = True,
    ) -> None:
        """See docs/sdk.md for each parameter.

        ``job_name``: a stable name (may be left out with ``template``). ``inputs``, ``outputs``: names, dicts, helpers,
        mixed. ``run_id``: a UUID. ``connector``: where COMPLETE gets schemas from. ``template``: a design-time event,
        as dict or file. ``parent``: True finds it, False has none, or the parent itself.
        """
        self.job_name = _text(job_name)
        self.inputs, self.outputs = inputs, outputs
        self.run_id = run_id
        self.job_facets, self.run_facets = job_facets, run_facets
        self.connector = connector
        self.namespace, self.dataset_namespace = _text(namespace), _text(dataset_namespace)
        self.parent = parent
        self.template: Template = load_template(template, self.job_name)
        self._open: list[LineageRun] = []

    @functools.cached_property
    def emitter(self) -> Emitter:
        """Where the events go; looked up by the first run, so that configuration may come after decoration."""
        return emitter()

    def __enter__(self) -> LineageRun:
        run = self._begin()
        try:
            run.start()
        except BaseException as problem:  # the user's interrupt, just now
            self._open.remove(run)
            self._finish(run, problem)
            raise
        return run

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._open:
            self._finish(self._open.pop(), problem)

    async def __aenter__(self) -> LineageRun:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, problem, trace)

    def __call__[F: Callable[..., Any]](self, function: F) -> F:
        """Decorate: each call is a run of its own."""
        return cast("F", _decorated(self, function))

    def again(self) -> lineage_run:
        """The same plan for a further run."""
        plan = object.__new__(lineage_run)
        plan.__dict__.update(self.__dict__)
        plan.__dict__.pop("emitter", None)
        plan._open = []
        return plan

    # --- inside -----------------------------------------------------------------------------------------------------

    def _begin(self) -> LineageRun:
        outer = parents.enclosing_run() if self.parent is True else None
        try:
            run = LineageRun(self, outer, self.ancestry(outer))
        except Exception as problem:  # objects whose own methods fail
            warn_once(f"lineage: a run is tracked by its name alone: {describe(problem)}")
            run = LineageRun(lineage_run(self.job_name), outer, Ancestry())
        self._open.append(run)
        parents.enter(run)
        return run

    def ancestry(self, outer: parents.ActiveRun | None) -> Ancestry:
        """The parent and root that ``parent`` asks for."""
        if self.parent is True:
            return parents.ancestry_of(outer)
        if isinstance(self.parent, LineageRun):
            return parents.ancestry_of(self.parent)
        if isinstance(self.parent, RunRef):
            given = replace(self.parent, run_id=_safe_run_id(self.parent.run_id))
            return Ancestry(given, given)
        return Ancestry()

    def _finish(self, run: LineageRun, problem: BaseException | None) -> None:
        try:
            _end_safely(run, problem)
        except BaseException:  # the user's interrupt, just now
            if not run.terminated:
                _end_safely(run, problem)
            raise
        finally:
            parents.leave(run)


@guarded("reading a name", None)
def _text(name: object) -> str | None:
    return str(name) if name is not None else None


@guarded("ending a run", None)
def _end_safely(run: LineageRun, problem: BaseException | None) -> None:
    run.end(problem)


def _decorated(plan: lineage_run, function: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def run_coroutine(*args: Any, **kwargs: Any) -> Any:
            async with plan.again():
                return await function(*args, **kwargs)

        return run_coroutine
    if inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        def run_async_generator(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
            return _within(plan.again(), function(*args, **kwargs))

        return run_async_generator
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def run_generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            with plan.again():
                return (yield from function(*args, **kwargs))

        return run_generator

    @functools.wraps(function)
    def run_function(*args: Any, **kwargs: Any) -> Any:
        with plan.again():
            return function(*args, **kwargs)

    return run_function


async def _within(plan: lineage_run, inner: AsyncGenerator[Any, Any]) -> AsyncGenerator[Any, Any]:
    """An asynchronous generator inside a run: what is sent and thrown in goes on to it (PEP 380 has no such form)."""
    async with plan:
        step = inner.asend(None)
        while True:
            try:
                item = await step
            except StopAsyncIteration:
                return
            try:
                sent = yield item
            except GeneratorExit:
                await inner.aclose()
                raise
            except BaseException as problem:
                step = inner.athrow(problem)
            else:
                step = inner.asend(sent)


def current_run() -> LineageRun | None:
    """The innermost run that is under way in this thread or task."""
    run = parents.enclosing_run()
    return run if isinstance(run, LineageRun) else None


def emit_lineage(
    event_type: EventType | str,
    job_name: str,
    run_id: str | None = None,
    inputs: Any = None,
    outputs: Any = None,
    job_facets: Mapping[str, Any] | None = None,
    event_time: str | datetime | None = None,
    *,
    run_facets: Mapping[str, Any] | None = None,
    namespace: str | None = None,
    dataset_namespace: str | None = None,
    parent: Parent = True,
) -> str:
    """Emit one run event and return its run id. Never raises: what cannot be sent is logged.

    ``event_type``: START, RUNNING, COMPLETE, ABORT, FAIL or OTHER. ``event_time``: ISO 8601; now if left out. The other
    parameters are those of `lineage_run`; a connector is not asked here.
    """
    plan = lineage_run(
        job_name,
        inputs,
        outputs,
        _safe_run_id(run_id),
        job_facets,
        run_facets=run_facets,
        namespace=namespace,
        dataset_namespace=dataset_namespace,
        parent=parent,
    )
    _emit_one(plan, event_type, event_time)
    return str(plan.run_id)


@guarded("emitting an event", None)
def _emit_one(plan: lineage_run, kind: EventType | str, moment: str | datetime | None) -> None:
    known = events.event_type(kind)
    if known is None:
        warn_once(f"lineage: there is no event type {str(kind)[:100]!r}; nothing is sent")
        return
    outer = parents.enclosing_run() if plan.parent is True else None
    if outer is not None and outer.ref.run_id == plan.run_id:
        run = LineageRun(plan, None, outer.ancestry)  # a further event of the run that is under way
    else:
        run = LineageRun(plan, outer, plan.ancestry(outer))
    run.emit(known, _time(moment))
    if is_child() and run.is_outermost():
        run.wait()


def _time(moment: str | datetime | None) -> str:
    try:
        return events.event_time(moment)
    except (ValueError, TypeError, AttributeError):
        warn_once(f"lineage: the event time {str(moment)[:100]!r} is no time; now stands for it")
        return events.event_time()


def _safe_run_id(given: Any) -> str:
    try:
        return events.run_uuid(given)
    except Exception as problem:
        warn_once(f"lineage: the run id cannot be read: {describe(problem)}")
        return events.run_uuid(None)
