"""Analyses of a window of the log: each is a file of SQL and a class that says what its rows mean."""

from __future__ import annotations

from .analysis import Analysis, Parameter, analyse
from .catalogue import ANALYSES, analysis_named
from .finding import Finding, Severity, Subject

__all__ = ["ANALYSES", "Analysis", "Finding", "Parameter", "Severity", "Subject", "analyse", "analysis_named"]
