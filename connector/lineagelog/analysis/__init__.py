"""Questions to a window of the log: what each asks, and what its rows amount to. `read.analyses` asks them."""

from .catalogue import analyses, analysis_named, parameters
from .declaration import Analysis, Joins, Parameter, Result, Span, WholeNumber
from .finding import Finding, Severity, Subject

__all__ = [
    "Analysis",
    "Finding",
    "Joins",
    "Parameter",
    "Result",
    "Severity",
    "Span",
    "Subject",
    "WholeNumber",
    "analyses",
    "analysis_named",
    "parameters",
]
