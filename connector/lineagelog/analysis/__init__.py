"""Questions to a window of the log: what each asks, and what its rows amount to. `read.analyses` asks them."""

from lineagelog.shown import place

from .catalogue import analyses, analyses_named, analysis_named, parameters
from .declaration import (
    Analysis,
    Arrived,
    Choice,
    Given,
    Joins,
    Judgement,
    Parameter,
    RawEvent,
    Result,
    Span,
    WholeNumber,
)
from .evidence import DatasetEvidence, Evidence, JobEvidence, each
from .finding import Finding, Insufficient, Severity, Subject, SubjectResult, Told
from .rules import NO_RULES, Rules, SubjectRule, read_rules

__all__ = [
    "NO_RULES",
    "Analysis",
    "Arrived",
    "Choice",
    "DatasetEvidence",
    "Evidence",
    "Finding",
    "Given",
    "Insufficient",
    "JobEvidence",
    "Joins",
    "Judgement",
    "Parameter",
    "RawEvent",
    "Result",
    "Rules",
    "Severity",
    "Span",
    "Subject",
    "SubjectResult",
    "SubjectRule",
    "Told",
    "WholeNumber",
    "analyses",
    "analyses_named",
    "analysis_named",
    "each",
    "parameters",
    "place",
    "read_rules",
]
