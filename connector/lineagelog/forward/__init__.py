"""The way out: stored events, as received, to other OpenLineage backends."""

from .forwarder import Forwarder, Observer, Sent, Survey
from .open import open_sender, require
from .sending import Answer, Item, OpenSender, Sender, Verdict
from .target import Auth, BatchForm, ForwardTarget, Kind, find_target, read_target

__all__ = [
    "Answer",
    "Auth",
    "BatchForm",
    "ForwardTarget",
    "Forwarder",
    "Item",
    "Kind",
    "Observer",
    "OpenSender",
    "Sender",
    "Sent",
    "Survey",
    "Verdict",
    "find_target",
    "open_sender",
    "read_target",
    "require",
]
