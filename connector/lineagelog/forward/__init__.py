"""The way out: stored events, as received, to other OpenLineage backends."""

from .forwarder import Forwarder, Observer, Sent, Survey
from .open import open_sender, require
from .sending import Item, OpenSender, Sender, TargetAnswer, TargetVerdict
from .target import Auth, BatchForm, ForwardTarget, TargetKind, find_target, read_target

__all__ = [
    "Auth",
    "BatchForm",
    "ForwardTarget",
    "Forwarder",
    "Item",
    "Observer",
    "OpenSender",
    "Sender",
    "Sent",
    "Survey",
    "TargetAnswer",
    "TargetKind",
    "TargetVerdict",
    "find_target",
    "open_sender",
    "read_target",
    "require",
]
