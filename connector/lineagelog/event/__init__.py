"""OpenLineage events: from bytes to an event with its identity, its canonical hash and what it says of its run."""

from .model import (
    AssertionResult,
    DatasetSighting,
    Event,
    EventKind,
    Notice,
    Reason,
    Rejected,
    RunSighting,
    TestResult,
)
from .parse import Check, parse
from .times import BadTimeError, parse_time

__all__ = [
    "AssertionResult",
    "BadTimeError",
    "Check",
    "DatasetSighting",
    "Event",
    "EventKind",
    "Notice",
    "Reason",
    "Rejected",
    "RunSighting",
    "TestResult",
    "parse",
    "parse_time",
]
