"""The report, an HTML file that stands for itself: `source` reads what is in it, `page` writes it; all else is pure."""

from .model import ReportContent
from .page import page
from .source import Wanted, collect

__all__ = ["ReportContent", "Wanted", "collect", "page"]
