"""The one door of all transports: bytes to parsed events, events to the store, a verdict for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec import Struct

from lineagelog.event.model import Event, Rejected
from lineagelog.event.parse import Check, parse
from lineagelog.store import Appended, InTransaction, LogStore, Verdict

from .framing import has_more_values, too_large, too_many_values

MAX_EVENT: Final = 32 * 1024 * 1024
"""Default limit of one event, in bytes."""
MAX_REQUEST: Final = 64 * 1024 * 1024
"""Default limit of one delivery after inflation, in bytes."""
MAX_VALUES: Final = 1_000_000
"""Default limit of the JSON values of one event: a tree of so many takes some 200 MB at most."""

type Item = Event | Rejected
type Append = Callable[..., Appended]


class Outcome(Struct, frozen=True, gc=False):
    """What became of one event of a delivery."""

    verdict: Verdict
    item: Item
    """The event, or why it was refused."""

    @property
    def rejected(self) -> Rejected | None:
        """The reason, if it was refused."""
        return self.item if isinstance(self.item, Rejected) else None


class Door:
    """Parses and appends for transports that deliver in batches of their own (files, Kafka, the daemon).

    ``check`` is strict mode's check of a decoded event; ``max_event`` the limit of one event in bytes,
    ``max_values`` in JSON values.
    """

    def __init__(
        self,
        store: LogStore,
        *,
        check: Check | None = None,
        max_event: int = MAX_EVENT,
        max_values: int = MAX_VALUES,
    ) -> None:
        self.store = store
        self._check = check
        self._max_event, self._max_values = max_event, max_values

    def parse(self, body: bytes) -> Item:
        """Read one event; one beyond the limit is refused unread."""
        if len(body) > self._max_event:
            return too_large(body, len(body), self._max_event)
        if has_more_values(body, self._max_values):
            return too_many_values(body, self._max_values)
        return parse(body, check=self._check)

    def take(
        self,
        bodies: Sequence[bytes],
        *,
        source: str,
        positions: Sequence[str] | None = None,
        in_transaction: InTransaction | None = None,
    ) -> list[Outcome]:
        """Parse and store a batch; returns after COMMIT, with an outcome per event.

        Raises StoreUnavailable, StoreReadOnly or StoreNotCreated; then nothing of the batch is stored.
        """
        items = [self.parse(body) for body in bodies]
        appended = self.store.append(items, source=source, positions=positions, in_transaction=in_transaction)
        return outcomes(items, appended)


def outcomes(items: Sequence[Item], appended: Appended) -> list[Outcome]:
    """Join the verdicts of an append to its items."""
    refused: dict[int, Any] = appended.refusals
    return [
        Outcome(verdict, refused.get(index, item))
        for index, (verdict, item) in enumerate(zip(appended.verdicts, items, strict=True))
    ]
