"""Forwarding beside the server: targets that `serve` forwards to on its own, and their samples for its metrics."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import structlog

from lineagelog.errors import LineageLogError

from .forward import open_any, require_any, status_row

if TYPE_CHECKING:
    from lineagelog.forward import Background, ForwardTarget
    from lineagelog.metrics import Sample
    from lineagelog.store import LogStore

_STOP_SECONDS: Final = 10.0
"""What a stop waits for attempts on their way; one that is broken off is made again after the next start."""
_FRESH: Final = 5.0
"""Seconds for which a look at the lag counts; at least 20 times as long as the look took."""
_PATIENCE: Final = 2.0
"""Seconds that a scrape waits for a new look before it gives those of the last one."""

_log = structlog.get_logger(__name__)


def served_targets(sections: Mapping[str, Mapping[str, Any]]) -> list[ForwardTarget]:
    """The targets with ``follow`` or ``interval``. Raises SettingsError for what is wrong or not installed."""
    if not sections:
        return []
    from lineagelog.forward import read_target

    targets = [target for name in sorted(sections) if (target := read_target(name, sections[name])).is_served]
    for target in targets:
        require_any(target)
    return targets


class Beside:
    """Forwards in the background, from start() to stop(), and tells how it goes."""

    def __init__(self, background: Background, targets: Sequence[ForwardTarget], status: Status) -> None:
        self._background, self._targets, self._status = background, targets, status
        self._started = False

    def start(self) -> None:
        """Begin, each target on its own thread."""
        for target in self._targets:
            _log.info("forwarding begins", action="forward", target=target.name, url=target.shown_url)
        self._background.start()
        self._started = True

    def stop(self) -> None:
        """Finish what is on its way."""
        ended = self._background.stop(_STOP_SECONDS)
        self._status.close()
        if not self._started:
            return
        for sent in self._background.sent:
            done = {"delivered": sent.delivered, "parked": sent.parked, "filtered": sent.filtered}
            _log.info("forwarding ends", action="forward", target=sent.target, finished=ended, **done)

    def samples(self) -> Iterator[Sample]:
        """Per target; those that need the database are missing while it cannot be asked."""
        from lineagelog.metrics import Sample

        for sent in self._background.sent:
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


class Status:
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


@contextmanager
def beside(store: LogStore, targets: Sequence[ForwardTarget]) -> Iterator[Beside]:
    """Forwarding with connections of its own, so that it never waits for the server's, nor the server for them."""
    from lineagelog.forward import Background
    from lineagelog.store import open_engine
    from lineagelog.store.ledgers.forwarding import Forwarding

    # of each target the lease and the reading; and the status
    engine = open_engine(store.engine.url.render_as_string(hide_password=False), pool_size=2 * len(targets) + 1)
    forwarding = Forwarding(engine, store.schema)

    def look() -> list[dict[str, Any]]:
        known = {row.target: row for row in forwarding.cursors()}
        return [status_row(forwarding, target.name, known.get(target.name)) for target in targets]

    running = Beside(Background(forwarding, targets, open_any), targets, Status(look))
    try:
        yield running
    finally:
        running.stop()
        engine.dispose()
