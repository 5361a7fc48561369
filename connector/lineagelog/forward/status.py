"""How a target of forwarding is doing: what `forward status` and the metrics show."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from lineagelog.store.ledgers.forwarding import START, CursorRow, Forwarding


def status_row(forwarding: Forwarding, name: str, row: CursorRow | None) -> dict[str, Any]:
    """How a target is doing; ``row`` is None if it was never forwarded to."""
    lag = forwarding.lag(row.position if row and row.is_begun else START)
    learnt = (row.learnt if row else None) or {}
    seconds = (datetime.now(UTC) - lag.oldest).total_seconds() if lag.oldest else 0.0
    return {
        "target": name,
        "state": "never run" if row is None or not row.is_begun else "running" if row.is_running else "stopped",
        "lag_events": lag.events,
        "lag_seconds": round(max(seconds, 0.0), 1),
        "held_back": lag.held_back,
        "held_back_by": lag.holder,
        "rate": round(row.rate, 1) if row and row.rate is not None else None,
        "delivered": row.delivered if row else 0,
        "parked": row.parked if row else 0,
        "filtered": row.filtered if row else 0,
        "gap": row.gap if row else 0,
        "gap_before": row.gap_before if row else None,
        "batches": learnt.get("batches"),
        "max_request_bytes": learnt.get("max_bytes"),
        "problem": row.problem if row else None,
        "problem_at": row.problem_at if row else None,
        "updated_at": row.updated_at if row else None,
    }
