"""Forwards what the log holds to one target: to its end, continuously, or a range; and what was parked, once more."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from itertools import batched
from typing import Final

import structlog
from msgspec import Struct

from lineagelog.errors import LineageLogError, StoreError, StoreReadOnly, StoreUnavailable, TargetBusy
from lineagelog.event.received import as_received
from lineagelog.event.redaction import redact
from lineagelog.shown import mask_text
from lineagelog.store.ledgers.forwarding import (
    NOT_BEGUN,
    START,
    EventPage,
    Forwarding,
    Learnt,
    Lease,
    Letter,
    Position,
    Progress,
    StoredEvent,
)

from .delivery import Delivered, TargetDelivery
from .pace import Pace, StoppedError
from .sending import Item, OpenSender, Sender
from .target import ForwardTarget

PAGE_BYTES: Final = 16 * 1024 * 1024
"""A page is sent when its events reach this size; three pages are in memory at most."""
_RATE_SECONDS: Final = 60.0
_PROBLEM_SECONDS: Final = 5.0
"""A problem that goes on is written to the status this often."""
_STORE_SECONDS: Final = 5.0
_SERVE_SECONDS: Final = 60.0
_RETRY_AT_ONCE: Final = 200

_log = structlog.get_logger(__name__)


class Sent(Struct, frozen=True):
    """What a forwarder has done since it was made: for progress bars, logs and metrics."""

    target: str
    delivered: int = 0
    parked: int = 0
    filtered: int = 0
    bytes: int = 0
    """Of the delivered and parked events, before compression."""
    retries: int = 0
    rate: float = 0.0
    """Events per second, lately."""
    problem: str | None = None

    @property
    def events(self) -> int:
        """Events that are done."""
        return self.delivered + self.parked + self.filtered


type Observer = Callable[[Sent], None]
"""Called after every page, and when the target is in trouble; from several threads, one at a time."""


class Forwarder:
    """Forwards to one target. One thread uses it; ``stop`` may be set by any other, or by a signal handler."""

    def __init__(
        self,
        forwarding: Forwarding,
        target: ForwardTarget,
        open_sender: OpenSender,
        *,
        observer: Observer | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        self.target, self.sent = target, Sent(target.name)
        self.stop = stop or threading.Event()
        self.observer = observer
        self._forwarding, self._open_sender = forwarding, open_sender
        self._lock = threading.Lock()
        self._rates = _Rate()
        self._told = 0.0

    # --- the ways to forward ----------------------------------------------------------------------------------------

    def run(self) -> Sent:
        """Forward what is stored now and was not forwarded yet; returns early when stopped.

        Raises TargetBusy, TargetUnavailable, StoreError and SettingsError. What was done is remembered.
        """
        with self._session(patient=False, begins=True) as session:
            self._catch_up(session)
        return self.sent

    def follow(self) -> Sent:
        """Forward until stopped, whatever happens to the target or the database meanwhile; waits for its turn.

        Raises SettingsError, StoreNotCreated and StoreError of a store that cannot be forwarded.
        """
        while not self.stop.is_set():
            try:
                with self._session(patient=True, begins=True) as session:
                    self._notify(problem=None)
                    while not self.stop.is_set():
                        self._catch_up(session)
                        self.stop.wait(self.target.poll)
            except (StoreUnavailable, StoreReadOnly, TargetBusy) as error:
                self._warn("forwarding waits", error)
                self.stop.wait(_STORE_SECONDS)
        return self.sent

    def serve(self, stop: threading.Event) -> Sent:
        """Follow, or forward every ``interval`` seconds if the target has one, until ``stop``. Raises nothing.

        May be called again after it has ended, with another ``stop``: what was sent is counted on.
        """
        self.stop = stop
        go, seconds = (
            (self.follow, _SERVE_SECONDS) if self.target.interval is None else (self.run, self.target.interval)
        )
        while not self.stop.is_set():
            try:
                go()
                self._notify(problem=None)
            except Exception as error:  # whatever it is, the next time may be better, and the server goes on
                self._warn("forwarding failed", error)
            self.stop.wait(seconds)
        return self.sent

    def forward_range(self, since: datetime | None, until: datetime | None) -> Sent:
        """Forward the events of [since, until) by event time, oldest first, whether they were forwarded before or not.

        The cursor of the target stays where it is. Raises as run().
        """
        with self._session(patient=False) as session:
            for page in self._pages_of_range(since, until):
                done = self._send(session, page.events)
                session.lease.park(done.letters)
                if session.sender.file_size is not None:
                    session.lease.keep_size(session.sender.file_size)
                self._count(page, done)
                if self.stop.is_set():
                    break
        return self.sent

    def retry(self, letter_ids: Sequence[int]) -> dict[str, int]:
        """Send parked events once more; counts of delivered, parked (again) and gone (purged meanwhile).

        Raises as run().
        """
        counts = {"delivered": 0, "parked": 0, "gone": 0}
        with self._session(patient=False) as session:
            for some in batched(letter_ids, _RETRY_AT_ONCE):
                for state, ids in self._retry_some(session, some).items():
                    counts[state] += len(ids)
                    if state != "parked":
                        self._forwarding.mark_letters(ids, state)
        return counts

    def survey(self, since: datetime | None, until: datetime | None, *, is_range: bool) -> Survey:
        """What a forward would do, without doing it."""
        found = Survey()
        if is_range:
            pages = self._pages_of_range(since, until)
        else:
            places = {row.target: row.position for row in self._forwarding.cursors() if row.is_begun}
            pages = self._pages(places.get(self.target.name) or self._start())
        for page in pages:
            items, letters = self._shape(page.events)
            found.events += len(items)
            found.bytes += sum(len(item.body) for item in items)
            found.too_large += len(letters)
            found.filtered += len(page.events) - len(items) - len(letters)
            found.redacted += sum(item.body != _original(item.event) for item in items) if self.target.redact else 0
            if self.stop.is_set():
                break
        return found

    # --- one session ------------------------------------------------------------------------------------------------

    @contextmanager
    def _session(self, *, patient: bool, begins: bool = False) -> Iterator[_Session]:
        """Lease, sender and threads of one go; one that ``begins`` owes the target all that arrives from then on."""
        with self._forwarding.lease(self.target.name) as lease:
            if self._forwarding.has_foreign():
                raise StoreError(
                    "the store was restored from another database cluster, where transactions have other numbers: "
                    "run `lineagelog forward rebase` once, while nothing writes to the store"
                )
            known = lease.recall()
            if known.position is None:
                lease.begin(self._start() if begins else NOT_BEGUN)
            sender = self._open_sender(self.target, known)
            if sender.file_size is not None:
                lease.keep_size(sender.file_size)
            pace = Pace(self.target, self.stop)
            delivery = TargetDelivery(sender, self.target, pace, patient=patient, on_problem=self._problem(lease))
            try:
                yield _Session(lease, sender, delivery, known.learnt or {})
            except StoppedError:
                pass
            finally:
                delivery.close()
                sender.close()

    def _start(self) -> Position:
        """Where a target begins that is new."""
        return START if self.target.start == "beginning" else self._forwarding.end()

    def _catch_up(self, session: _Session) -> None:
        """Forward until nothing more is there."""
        for page in self._pages(session.lease.recall().position or START):
            done = self._send(session, page.events)
            self._rates.add(len(page.events))
            session.lease.save(
                Progress(
                    page.events[-1].position,
                    done.delivered,
                    sum(event.body is None for event in page.events),
                    done.letters,
                    session.sender.file_size,
                    self._rates.value,
                )
            )
            self._count(page, done)
            if self.stop.is_set():
                return

    def _send(self, session: _Session, events: Sequence[StoredEvent]) -> Delivered:
        items, letters = self._shape(events)
        try:
            done = session.delivery.deliver(items) if items else Delivered(0, (), 0)
        finally:  # also where the target takes no more: the next go does not ask again
            session.remember()
        return Delivered(done.delivered, (*letters, *done.letters), done.retries)

    def _retry_some(self, session: _Session, letter_ids: Sequence[int]) -> dict[str, list[int]]:
        found = self._forwarding.letter_events(letter_ids)
        events = [event for _, event in found if event is not None]
        done = self._send(session, events)
        session.lease.park(done.letters)
        parked = {letter.event.position for letter in done.letters}
        states: dict[str, list[int]] = {"delivered": [], "parked": [], "gone": []}
        for number, event in found:
            state = "gone" if event is None else "parked" if event.position in parked else "delivered"
            states[state].append(number)
        return states

    def _shape(self, events: Sequence[StoredEvent]) -> tuple[list[Item], tuple[Letter, ...]]:
        """The events as they are sent, and those that are too large."""
        items: list[Item] = []
        letters: list[Letter] = []
        limit = self.target.max_event_bytes
        for event in events:
            if event.body is None:
                continue
            body = _original(event)
            if self.target.redact:
                body = redact(body)
            if limit is not None and len(body) > limit:
                detail = f"{len(body)} bytes; the limit of the target is {limit}"
                letters.append(Letter(event, len(body), "too_large", None, detail))
            else:
                items.append(Item(event, body))
        return items, tuple(letters)

    # --- pages ------------------------------------------------------------------------------------------------------

    @property
    def _page_events(self) -> int:
        return self.target.batch_size * self.target.in_flight

    def _pages(self, after: Position) -> Iterator[EventPage]:
        place = after

        def read() -> EventPage:
            return self._forwarding.page(
                place,
                self.target.selection,
                limit=self._page_events,
                max_bytes=PAGE_BYTES,
            )

        def advance(page: EventPage) -> None:
            nonlocal place
            place = page.events[-1].position

        return _ahead(read, advance)

    def _pages_of_range(self, since: datetime | None, until: datetime | None) -> Iterator[EventPage]:
        last: StoredEvent | None = None

        def read() -> EventPage:
            return self._forwarding.range_page(
                since, until, last, self.target.selection, limit=self._page_events, max_bytes=PAGE_BYTES
            )

        def advance(page: EventPage) -> None:
            nonlocal last
            last = page.events[-1]

        return _ahead(read, advance)

    # --- telling ----------------------------------------------------------------------------------------------------

    def _problem(self, lease: Lease) -> Callable[[str], None]:
        def tell(text: str) -> None:
            with self._lock:
                now = time.monotonic()
                if now - self._told < _PROBLEM_SECONDS:
                    return
                self._told = now
                _log.warning("target does not take events", action="forward", target=self.target.name, problem=text)
                lease.tell(text)
            self._notify(problem=text)

        return tell

    def _warn(self, what: str, error: Exception) -> None:
        """Log a problem, once for as long as it is the same."""
        text = str(error) if isinstance(error, LineageLogError) else f"{type(error).__name__}: {mask_text(str(error))}"
        if text != self.sent.problem:
            _log.warning(what, action="forward", target=self.target.name, error=text)
        self._notify(problem=text)

    def _count(self, page: EventPage, done: Delivered) -> None:
        size = sum(len(event.body or b"") for event in page.events)
        sent = self.sent
        self._notify(
            delivered=sent.delivered + done.delivered,
            parked=sent.parked + len(done.letters),
            filtered=sent.filtered + sum(event.body is None for event in page.events),
            bytes=sent.bytes + size,
            retries=sent.retries + done.retries,
            rate=self._rates.value,
            problem=None,
        )

    def _notify(self, **changes: object) -> None:
        with self._lock:
            self.sent = Sent(**{name: getattr(self.sent, name) for name in Sent.__struct_fields__} | changes)
            if self.observer is not None:
                self.observer(self.sent)


class Survey:
    """What a forward would send."""

    def __init__(self) -> None:
        self.events = 0
        self.bytes = 0
        self.filtered = 0
        self.too_large = 0
        self.redacted = 0


class _Session:
    def __init__(self, lease: Lease, sender: Sender, delivery: TargetDelivery, learnt: Learnt) -> None:
        self.lease, self.sender, self.delivery = lease, sender, delivery
        self._remembered = learnt

    def remember(self) -> None:
        """Keep what the sender has learnt of the target, where that is news."""
        learnt = self.sender.learnt
        if learnt != self._remembered:
            self.lease.remember(learnt)
            self._remembered = learnt


class _Rate:
    """Events per second over about the last minute."""

    def __init__(self) -> None:
        self._marks: list[tuple[float, int]] = [(time.monotonic(), 0)]

    def add(self, events: int) -> None:
        """Count events that are done now."""
        now = time.monotonic()
        self._marks.append((now, self._marks[-1][1] + events))
        while len(self._marks) > 2 and self._marks[1][0] < now - _RATE_SECONDS:
            del self._marks[0]

    @property
    def value(self) -> float:
        """Events per second."""
        (start, before), (end, after) = self._marks[0], self._marks[-1]
        return (after - before) / (end - start) if end > start else 0.0


def _original(event: StoredEvent) -> bytes:
    body = event.body or b""
    return body if event.is_exact else as_received(body, event.event_hash)


def _ahead(read: Callable[[], EventPage], advance: Callable[[EventPage], None]) -> Iterator[EventPage]:
    """The pages that are not empty, the next one read while the caller works on the current one."""
    with ThreadPoolExecutor(1, thread_name_prefix="lineagelog-forward-read") as pool:
        coming: Future[EventPage] = pool.submit(read)
        while (page := coming.result()).events:
            advance(page)
            if page.is_last:
                yield page
                return
            coming = pool.submit(read)
            yield page
