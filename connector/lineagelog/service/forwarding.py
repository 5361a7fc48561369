"""Forwarding in the background of `serve`: a task per target that asks for it, and their samples for the metrics."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Final

import structlog

from lineagelog.errors import LineageLogError
from lineagelog.forward import Forwarder, ForwardTarget, Sent
from lineagelog.forward.status import status_row
from lineagelog.metrics import Sample
from lineagelog.store.ledgers.forwarding import Forwarding

from .background import Task
from .targets import open_any

_FRESH: Final = 5.0
"""Seconds for which a look at the lag counts; at least 20 times as long as the look took."""
_PATIENCE: Final = 2.0
"""Seconds that a scrape waits for a new look before it gives those of the last one."""

_log = structlog.get_logger(__name__)


class ForwardTask:
    """Forwards to one target. The target's lease stays: a `forward` command, or a leader cut off, may be at it."""

    def __init__(self, forwarding: Forwarding, target: ForwardTarget) -> None:
        self._forwarder = Forwarder(forwarding, target, open_any)
        self._target = target

    @property
    def name(self) -> str:
        """Of its own for each target: servers may have different ones."""
        return f"forward {self._target.name}"

    @property
    def sent(self) -> Sent:
        """What this process has sent since its start."""
        return self._forwarder.sent

    def run(self, stop: threading.Event) -> None:
        """Follow the target, or forward at its interval; what is on its way is finished first."""
        _log.info("forwarding begins", action="forward", target=self._target.name, url=self._target.shown_url)
        sent = self._forwarder.serve(stop)
        done = {"delivered": sent.delivered, "parked": sent.parked, "filtered": sent.filtered}
        _log.info("forwarding ends", action="forward", target=self._target.name, **done)


class Forwards:
    """The tasks of all targets, and how they do."""

    def __init__(self, forwarding: Forwarding, targets: Sequence[ForwardTarget]) -> None:
        self._tasks = [ForwardTask(forwarding, target) for target in targets]

        def look() -> list[dict[str, Any]]:
            known = {row.target: row for row in forwarding.cursors()}
            return [status_row(forwarding, target.name, known.get(target.name)) for target in targets]

        self._status = ForwardStatus(look)

    @property
    def tasks(self) -> Sequence[Task]:
        """A task for each target."""
        return self._tasks

    def close(self) -> None:
        """Look no more at the status."""
        self._status.close()

    def samples(self) -> Iterator[Sample]:
        """Per target; those that need the database are missing while it cannot be asked."""
        for sent in (task.sent for task in self._tasks):
            for outcome in ("delivered", "parked", "filtered"):
                labels = {"target": sent.target, "outcome": outcome}
                text = "Events that forwarding is done with, since the start"
                yield Sample("lineagelog_forward_events", text, "counter", labels, getattr(sent, outcome))
            text = "1 while forwarding to the target is in trouble"
            yield Sample("lineagelog_forward_failing", text, "gauge", {"target": sent.target}, bool(sent.problem))
        for row in self._status.rows():
            for key, text in _OF_STATUS.items():
                yield Sample(f"lineagelog_forward_{key}", text, "gauge", {"target": row["target"]}, row[key])


_OF_STATUS: Final = {
    "parked": "Events that are parked now",
    "lag_events": "Events that arrived and are not forwarded",
    "lag_seconds": "Age of the oldest of them",
    "gap": "Events that a purge took before they were forwarded",
}


class ForwardStatus:
    """What `forward status` shows, looked up on a thread of its own, seldom enough to cost the database nothing."""

    def __init__(self, look: Callable[[], list[dict[str, Any]]]) -> None:
        self._look_up = look
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="lineagelog-forward-status")
        self._lock = threading.Lock()
        self._coming: Future[None] | None = None
        self._rows: list[dict[str, Any]] = []
        self._next = 0.0

    def rows(self) -> list[dict[str, Any]]:
        """One per target; the last ones known where the database takes its time, none where it does not answer."""
        with self._lock:
            if self._coming is None and time.monotonic() >= self._next:
                self._coming = self._pool.submit(self._look)
            coming = self._coming
        if coming is not None:
            wait([coming], _PATIENCE)
        return self._rows

    def close(self) -> None:
        """End the thread."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _look(self) -> None:
        rows: list[dict[str, Any]] = []
        begin = time.monotonic()
        try:
            rows = self._look_up()
        except LineageLogError as error:
            _log.debug("lag unknown", action="forward", error=str(error))
        finally:
            end = time.monotonic()
            with self._lock:
                self._rows, self._coming = rows, None
                self._next = end + max(_FRESH, 20 * (end - begin))
