"""What people look at, as JSON: executions, trends, the graph of lineage, search."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from lineagelog.read import Reader, Window
from lineagelog.read.explore.executions import STATES, Execution, ExecutionDetails, WantedExecutions
from lineagelog.read.explore.find import KINDS, FoundHits
from lineagelog.read.explore.graph import DEEPEST, DRAWN, MOST, Depth, LineageGraph
from lineagelog.read.explore.trends import MOST as MOST_SPANS
from lineagelog.read.explore.trends import STEPS, ExecutionTrend
from lineagelog.read.period import parse_instant
from lineagelog.server.answers import Refusal
from lineagelog.store.ledgers.tokens import Grant

from .query import LIMIT, PAGE, SOME_TEXT, TEXT, WINDOW, Query, QueryParameter, bad
from .reads import Read, page

_STATES: Final = tuple(state.upper() for state in STATES)
_STEPS: Final = tuple(step.upper() for step in STEPS)
_NODES: Final = ("JOB", "DATASET", "COLUMN")
_JOB: Final = (QueryParameter("job", "Job name; with namespace"), QueryParameter("namespace", "Job namespace"))
_COUNT: Final = {"type": "integer", "minimum": 0, "maximum": DEEPEST}


def executions(reader: Reader, query: Query, grant: Grant) -> Any:
    """The executions that began in a window."""
    return page(reader.explore(grant.namespaces, query.stop).executions(_wanted(query, query.window())), query)


def _wanted(query: Query, window: Window) -> WantedExecutions:
    job, namespace, state = query.text("job"), query.text("namespace"), query.choice("state", _STATES)
    return WantedExecutions(
        window=window,
        job=None if job is None else (namespace or "", job),
        namespace=namespace if job is None else None,
        state=None if state is None else state.lower(),
        reverse=query.reverse,
    )


def execution(reader: Reader, query: Query, grant: Grant) -> ExecutionDetails:
    """One execution with its attempts and what it started."""
    job = query.text("job")
    found = reader.explore(grant.namespaces, query.stop).execution(
        query.text("run_id") or "", None if job is None else (query.text("namespace") or "", job)
    )
    if found is None:
        raise Refusal(404, "not_found", "there is no execution of this id")
    return found


def trends(reader: Reader, query: Query, grant: Grant) -> ExecutionTrend:
    """Executions span by span."""
    step = STEPS[(query.choice("step", _STEPS) or "HOUR").lower()]
    window = query.window(datetime.now(UTC), "-24h")
    if (window.end - window.start) > timedelta(seconds=step * MOST_SPANS):
        raise bad("since", f"makes more than {MOST_SPANS} spans: take step=day, or a shorter window")
    return reader.explore(grant.namespaces, query.stop).trends(_wanted(query, window), step)


def graph(reader: Reader, query: Query, grant: Grant) -> LineageGraph:
    """The graph around a job, a dataset or a column."""
    now = datetime.now(UTC)
    as_of, compared = (query.instant(name, now, parse_instant) for name in ("as_of", "compare"))
    explorer = reader.explore(grant.namespaces, query.stop)
    lineage = explorer.lineage(as_of)
    kind = (query.choice("kind", _NODES) or "DATASET").lower()
    focus = explorer.node("job" if kind == "job" else "dataset", query.text("namespace") or "", _name(query), lineage)
    if focus is None:
        raise Refusal(404, "not_found", f"there is no {kind} of this name in the lineage then")
    depth = Depth(query.count("up", 1, DEEPEST), query.count("down", 1, DEEPEST), query.count("nodes", DRAWN, MOST))
    if kind == "column":
        column = query.text("column")
        return explorer.columns(focus, None if column is None else (column,), depth, lineage)
    return explorer.graph(focus, depth, as_of, compared)


def _name(query: Query) -> str:
    name = query.text("name")
    if not name:
        raise bad("name", "is missing")
    return name


def find(reader: Reader, query: Query, grant: Grant) -> FoundHits:
    """What a text is in."""
    text = (query.text("q") or "").strip()
    if not text:
        raise bad("q", "is missing")
    wanted = query.choice("kind", tuple(kind.upper() for kind in KINDS))
    kinds = KINDS if wanted is None else (wanted.lower(),)
    return reader.explore(grant.namespaces, query.stop).find(text, kinds, min(query.limit(), 100))


EXECUTIONS: Final = Read(
    path="/api/v1/executions",
    summary="Executions that began in a window; attempts at one task are one",
    description="What a retry made good is `fixed`, not failed; all Snaps of a pipeline are one execution.",
    ask=executions,
    answer=Execution,
    parameters=(
        *WINDOW,
        *_JOB,
        QueryParameter("state", "What came of it", {"type": "string", "enum": list(STATES)}),
        *PAGE,
    ),
    is_paged=True,
)
READS: Final = (
    EXECUTIONS,
    Read(
        path="/api/v1/executions/{run_id:rest}",
        summary="One execution with its attempts and what it has started",
        ask=execution,
        answer=ExecutionDetails,
        parameters=_JOB,
        may_miss=True,
        label="/api/v1/executions/",
    ),
    Read(
        path="/api/v1/trends",
        summary="How many executions began in each hour or day, by what came of them",
        ask=trends,
        answer=ExecutionTrend,
        parameters=(
            *WINDOW,
            *_JOB,
            QueryParameter("step", "Length of a span", {"type": "string", "enum": list(STEPS), "default": "hour"}),
        ),
    ),
    Read(
        path="/api/v1/graph",
        summary="What lies up- and downstream of a job, a dataset or a column",
        description="Lineage as the last executions of the jobs have it; states are in the answer. Beyond `nodes` the "
        "rest are groups with counts and the worst state. A token that is bound to namespaces sees the jobs of these, "
        "the datasets that they touched, and of other jobs at these how many there are (`hidden`).",
        ask=graph,
        answer=LineageGraph,
        parameters=(
            QueryParameter(
                "kind", "Of the middle", {"type": "string", "enum": ["job", "dataset", "column"], "default": "dataset"}
            ),
            QueryParameter("namespace", "Its namespace"),
            QueryParameter("name", "Its name; ~ and the key for a long one", SOME_TEXT),
            QueryParameter("column", "With kind=column; all columns of the dataset if absent", TEXT),
            QueryParameter("up", "Edges upstream", {**_COUNT, "default": 1}),
            QueryParameter("down", "Edges downstream", {**_COUNT, "default": 1}),
            QueryParameter(
                "nodes", "Nodes at most", {"type": "integer", "minimum": 0, "maximum": MOST, "default": DRAWN}
            ),
            QueryParameter("as_of", "The lineage as it was then; written like since", SOME_TEXT),
            QueryParameter("compare", "Tell what is new, gone or changed since then", SOME_TEXT),
        ),
        may_miss=True,
    ),
    Read(
        path="/api/v1/find",
        summary="Jobs, datasets, columns and runs that a text is in",
        description="Of runs the id, or the error text of those that failed in the last thirty days of the log.",
        ask=find,
        answer=FoundHits,
        parameters=(
            QueryParameter("q", "The text, in any case of letters", SOME_TEXT),
            QueryParameter("kind", "Only these", {"type": "string", "enum": list(KINDS)}),
            LIMIT,
        ),
    ),
)
