"""What there is to list, each list declared once: its command, its route and what OpenAPI says of it come from this."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

STATUSES: Final = ("START", "RUNNING", "COMPLETE", "FAIL", "ABORT", "OTHER", "UNKNOWN")
"""What a run has come to; START: only a START is known of it."""


class RowFilter(Struct, frozen=True, kw_only=True):
    """What the rows of a list can be narrowed by, or read with."""

    name: str
    """Of the parameter over HTTP."""
    meaning: str
    """For people; as it stands in a list of options."""
    metavar: str = "NAME"
    choices: tuple[str, ...] = ()
    """What is taken, in either case; none: any text."""
    is_flag: bool = False
    """Whether it is true or false, and asks for neither unless it is given."""
    is_some: bool = False
    """Whether an empty text is none."""
    option: str = ""
    """On the command line, where that is not the name with dashes; a flag stands for ``flag``."""
    flag: bool = True
    argument: str = ""
    """Of the function that gives the rows, where that is not the name."""

    @property
    def spelled(self) -> str:
        """As a command has it."""
        return f"--{self.option or self.name.replace('_', '-')}"

    @property
    def meaning_over_http(self) -> str:
        """Where it is true or false, unlike the flag of a command."""
        return self.meaning if self.flag else f"false: {self.meaning[0].lower()}{self.meaning[1:]}"

    @property
    def given_as(self) -> str:
        """The argument of the function that gives the rows."""
        return self.argument or self.name


class RowList(Struct, frozen=True, kw_only=True):
    """Rows of a window of time, in order: streamed by a command, in pages over HTTP."""

    name: str
    """Of the command and the path, with dashes."""
    noun: str
    """What there are so many of."""
    source: str = ""
    """Who gives the rows: ``module:function`` below `lineagelog.read`, which takes the Reader, the window, the filters
    that are given and ``reverse``, and returns a Listing of a Struct; none: the method of the Reader of that name."""
    about: str
    columns: tuple[str, ...]
    """Those of the table that people see."""
    filters: tuple[RowFilter, ...] = ()
    examples: tuple[str, ...] = ()
    of_one_namespace: bool = True
    """Whether a token that is bound to namespaces has to ask for one of them."""
    is_bound: bool = False
    """Whether the function itself keeps to namespaces (``within``)."""

    @property
    def summary(self) -> str:
        """In a line."""
        line = self.about.splitlines()[0].removeprefix("List ").removesuffix(".")
        return f"{line[0].upper()}{line[1:]}"

    @property
    def path(self) -> str:
        """Over HTTP."""
        return f"/api/v1/{self.name}"

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Of the function that gives the rows: what is given of the filters, by their names."""
        wanted = {each.given_as: given.get(each.name) for each in self.filters}
        return {name: value for name, value in wanted.items() if value is not None}


JOB: Final = (
    RowFilter(name="job", meaning="Of the job of that name."),
    RowFilter(name="namespace", meaning="Of jobs of that namespace; empty for those without one."),
)
_DATASET: Final = (
    RowFilter(name="dataset", meaning="With the dataset of that name.", argument="dataset_name"),
    RowFilter(name="dataset_namespace", meaning="With datasets of that namespace."),
)
_STATUS: Final = RowFilter(
    name="status",
    meaning="What came of the run; START: only a START is known of it.",
    metavar="STATUS",
    choices=STATUSES,
)
_SEARCH: Final = RowFilter(
    name="search",
    meaning="With this in a name, a tag, an owner or the description, in any case.",
    metavar="TEXT",
    is_some=True,
)

RUNS: Final = RowList(
    name="runs",
    noun="runs",
    about="""List runs that had an event in the window.

    Where a producer tells attempts and the runs of a mapped task apart (Airflow), they are shown by number.""",
    columns=(
        *("first_event_time", "job_namespace", "job_name", "map_index", "attempt", "attempts"),
        *("outcome", "status", "duration", "run_id"),
    ),
    filters=(
        *(*JOB, *_DATASET, _STATUS),
        RowFilter(name="parent", meaning="Started by the run of that id.", metavar="RUN_ID", is_some=True),
        RowFilter(name="root", meaning="Of all that began with the run of that id.", metavar="RUN_ID", is_some=True),
        RowFilter(
            name="last_attempts", meaning="Of attempts at one task the last, and what came of all.", is_flag=True
        ),
    ),
    examples=(
        "lineagelog list runs --since -24h --status FAIL",
        "lineagelog list runs --job daily_orders --json | jq .error_message",
        "lineagelog list runs --root 79dfb72c-813e-5623-b672-6cda60951d07 --reverse",
        "lineagelog list runs --since -1d --last-attempts --status FAIL",
    ),
    is_bound=True,
)
RUN_DATASETS: Final = RowList(
    name="run-datasets",
    noun="datasets of runs",
    about="List the datasets that runs of the window read (I) or wrote (O), with rows and bytes.",
    columns=("event_time", "direction", "dataset_namespace", "dataset_name", "row_count", "size_bytes", "run_id"),
    filters=(
        *(*JOB, *_DATASET, _STATUS),
        RowFilter(
            name="direction", meaning="Only read (I) or only written (O) ones.", metavar="I|O", choices=("I", "O")
        ),
    ),
    examples=(
        "lineagelog list run-datasets --since -7d --dataset shop.public.orders",
        "lineagelog list run-datasets --direction O --csv > written.csv",
    ),
    is_bound=True,
)
JOBS: Final = RowList(
    name="jobs",
    noun="jobs",
    about="List the jobs that were seen in the window, with owners, tags, description and what came of the newest run.",
    columns=(
        *("first_seen", "last_seen", "job_namespace", "job_name", "last_outcome"),
        *("owners", "tags", "description"),
    ),
    filters=(
        _SEARCH,
        *JOB,
        RowFilter(name="status", meaning="What came of the newest run.", metavar="STATUS", choices=STATUSES),
    ),
    examples=(
        "lineagelog list jobs --search orders",
        "lineagelog list jobs --since -7d --status FAIL --json | jq '.owners[]?.name'",
    ),
    of_one_namespace=False,
    is_bound=True,
)
DATASETS: Final = RowList(
    name="datasets",
    noun="datasets",
    about="List the datasets that were seen in the window, each once whatever names it has, with owners and tags.",
    columns=(
        *("first_seen", "last_seen", "dataset_namespace", "dataset_name", "names"),
        *("owners", "tags", "description"),
    ),
    filters=(
        _SEARCH,
        RowFilter(name="dataset", meaning="With that name among its names."),
        RowFilter(name="dataset_namespace", meaning="With a name of that namespace."),
    ),
    examples=(
        "lineagelog list datasets --search customer",
        "lineagelog list datasets --dataset shop.public.orders --json | jq .names",
    ),
    of_one_namespace=False,
    is_bound=True,
)
ASSERTIONS: Final = RowList(
    name="assertions",
    noun="assertions",
    about="List data quality assertions reported in the window.",
    columns=("event_time", "dataset_name", "assertion", "column_name", "success", "severity", "run_id"),
    filters=(
        *(*JOB, *_DATASET),
        RowFilter(
            name="success", meaning="Only those that did not succeed.", is_flag=True, option="failed", flag=False
        ),
    ),
    examples=("lineagelog list assertions --since -7d --failed",),
)
TESTS: Final = RowList(
    name="tests",
    noun="tests",
    about="List tests (of the test run facet) reported in the window.",
    columns=("event_time", "job_name", "test_name", "status", "severity", "run_id"),
    filters=(*JOB, RowFilter(name="status", meaning="The test's, such as pass or fail.", metavar="STATUS")),
    examples=("lineagelog list tests --since -7d --status fail",),
)
EVENTS: Final = RowList(
    name="events",
    noun="events",
    about="List the raw events of the window.",
    columns=("event_time", "event_kind", "event_type", "job_name", "run_id", "received_at", "notices"),
    filters=(
        *JOB,
        RowFilter(name="event_type", meaning="Such as START or FAIL.", metavar="TYPE", option="type"),
        RowFilter(name="content", meaning="With the event itself (a command: in JSON).", is_flag=True),
    ),
    examples=(
        "lineagelog list events --since -1h",
        "lineagelog list events --since 2026-03-01 --until 2026-04-01 --raw | gzip > march.ndjson.gz",
    ),
)

LISTS: Final = (RUNS, RUN_DATASETS, JOBS, DATASETS, ASSERTIONS, TESTS, EVENTS)
