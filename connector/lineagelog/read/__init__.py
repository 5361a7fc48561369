"""Reads of the log store: windows, one run, the store's own metrics, and all that as tables."""

from .frames import answers_table, query_table, rows_table
from .listing import MAX_PAGE, Listing
from .reader import Reader
from .rows import (
    Assertion,
    EventRow,
    EventSummary,
    ListedDataset,
    ListedJob,
    Page,
    Run,
    RunDataset,
    RunDetails,
    Test,
    Window,
)
from .script import Stop
from .status import Count, Lag, Partition, Status

__all__ = [
    "MAX_PAGE",
    "Assertion",
    "Count",
    "EventRow",
    "EventSummary",
    "Lag",
    "ListedDataset",
    "ListedJob",
    "Listing",
    "Page",
    "Partition",
    "Reader",
    "Run",
    "RunDataset",
    "RunDetails",
    "Status",
    "Stop",
    "Test",
    "Window",
    "answers_table",
    "query_table",
    "rows_table",
]
