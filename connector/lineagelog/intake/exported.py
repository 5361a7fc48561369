"""Stores events that an exporter made, as `lineagelog load` would; one that is refused is an error."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from lineagelog.errors import InputError

from .bulk import Delivery, load

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .door import Door


def load_exported(door: Door, events: Iterable[bytes], *, batch: int, connections: int) -> Mapping[str, int]:
    """How many events became what. Raises InputError once all are stored, if one was refused."""
    deliveries = (Delivery(body, f"event {number}") for number, body in enumerate(events, 1))
    counts: Counter[str] = Counter()
    refused = None
    for outcomes in load(door, deliveries, source="export", batch=batch, connections=connections):
        for outcome in outcomes:
            counts[outcome.verdict.value] += 1
            refused = refused or outcome.rejected
    if refused is not None:
        told = ", ".join(f"{name} {number}" for name, number in sorted(counts.items()))
        raise InputError(f"an exported event was refused and is kept as a dead letter ({told}): {refused}")
    return counts
