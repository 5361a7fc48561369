"""What a sender is: it takes events to a target once, and says of each what became of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final, Protocol

from msgspec import Struct

from lineagelog.store.ledgers.forwarding import Known, Learnt, StoredEvent

from .target import ForwardTarget

DETAIL_LENGTH: Final = 500


class TargetVerdict(StrEnum):
    """What became of one event in one attempt."""

    DELIVERED = "delivered"
    REFUSED = "refused"
    """For what it is: sending it again would not help."""
    AGAIN = "again"
    """The target cannot be reached or is busy: the same later."""
    FAILED = "failed"
    """The target broke down on it, perhaps because of it: the same later, but not for ever."""
    HELD = "held"
    """The target refuses us, whatever we send: an operator has to look."""
    SPLIT = "split"
    """Refused together with others: each is to be sent by itself."""
    UNTRIED = "untried"
    """Not sent, since one before it was not delivered."""


class TargetAnswer(Struct, frozen=True, gc=False):
    """What the target said to one event."""

    verdict: TargetVerdict
    status: int | None = None
    detail: str = ""
    retry_after: float | None = None
    """Seconds that the target asks to wait."""
    reason: str = "refused"
    """Code for the parked event, if it is refused."""


DELIVERED: Final = TargetAnswer(TargetVerdict.DELIVERED)
UNTRIED: Final = TargetAnswer(TargetVerdict.UNTRIED)


class Item(Struct, frozen=True, gc=False):
    """An event on its way, with the bytes that are sent."""

    event: StoredEvent
    body: bytes


class Sender(Protocol):
    """Sends to one target. ``send`` may be called by several threads at once where ``lanes`` is more than 1."""

    lanes: int
    """How many calls at the same time make sense."""
    file_size: int | None
    """Bytes that are complete, where the target is a file."""

    @property
    def max_bytes(self) -> int | None:
        """What several events sent together may be large, where that is known."""

    @property
    def learnt(self) -> Learnt:
        """What was found out about the target, to be remembered; empty = nothing."""

    def send(self, items: Sequence[Item]) -> list[TargetAnswer]:
        """One attempt; one answer per item. Troubles of the target are answers, never exceptions."""

    def close(self) -> None:
        """Let go of connections and files."""


type OpenSender = Callable[[ForwardTarget, Known], Sender]
"""Opens the sender of a target, with what is remembered of it."""
