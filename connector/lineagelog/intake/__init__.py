"""The way in: what every transport uses to hand events to the store."""

from .bulk import Delivery, load
from .door import MAX_EVENT, MAX_REQUEST, Door, Outcome
from .files import FileProgress, read_paths, total_size
from .framing import (
    BadCompressionError,
    Framed,
    Inflater,
    TooLargeError,
    TooManyEventsError,
    inflate,
    split,
    too_large,
)
from .group import GroupCommit, Lanes, Submission
from .tally import Tally

__all__ = [
    "MAX_EVENT",
    "MAX_REQUEST",
    "BadCompressionError",
    "Delivery",
    "Door",
    "FileProgress",
    "Framed",
    "GroupCommit",
    "Inflater",
    "Lanes",
    "Outcome",
    "Submission",
    "Tally",
    "TooLargeError",
    "TooManyEventsError",
    "inflate",
    "load",
    "read_paths",
    "split",
    "too_large",
    "total_size",
]
