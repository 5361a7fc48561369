"""Keeps the events of one connector: in the store, and while the database is away in the spool, which drains itself."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
import structlog

from lineagelog.backoff import pause_after
from lineagelog.errors import (
    LineageLogError,
    PartitionMissing,
    SettingsError,
    SpoolBusy,
    SpoolError,
    SpoolFull,
    StoreNotCreated,
    StoreReadOnly,
    StoreTooNew,
    StoreTooOld,
    StoreUnavailable,
)
from lineagelog.intake import MAX_REQUEST, Door, split
from lineagelog.intake.group import place_of
from lineagelog.spool import HEADER_BYTES, Spool, SpoolReader, count_records

from .metrics import SOURCE, ConnectorMetrics
from .patience import Question, Seldom

"""The transport's name in dead letters."""
_AWAY: Final = (StoreUnavailable, StoreReadOnly, StoreNotCreated, StoreTooOld, StoreTooNew, SettingsError)
"""Nothing can be stored now. PartitionMissing is one of them by birth, but it is the trouble of single events."""
_RETRY: Final = 0.1
"""Seconds between attempts while an event waits."""
_FIRST_PAUSE: Final = 0.25
_LONGEST_PAUSE: Final = 5.0
_ASIDE_PAUSE: Final = 15.0
"""Seconds until events that the store did not take are tried again; the database itself is there."""
_LOOK_SECONDS: Final = 30.0
"""Until the spool is looked into though nobody woke us: another instance may have left something there."""
_LEAVING_SECONDS: Final = 0.25
_FIRST_SECONDS: Final = 10.0
"""What the first look at a database may take, within the start of a connector, which a daemon never tries again."""
_ANSWER_SECONDS: Final = 5.0
"""What a database may take to say that it is there."""
_REFUSED_SECONDS: Final = 60.0
"""Between two lines of the log that say that events are refused."""
_SILENT: Final = "it does not answer"
_RECORDS: Final = 100
_RECORD_BYTES: Final = 4 * 1024 * 1024

_log = structlog.get_logger(__name__)

type Failures = dict[int, str]
"""Index of an event to why it could neither be stored nor spooled."""


class Keeper:
    """Takes events and returns when they are safe. `take` is for one thread at a time, the rest for any."""

    def __init__(
        self,
        door: Door,
        spool: Spool,
        ensure: Callable[[], None],
        *,
        wait: float,
        name: str,
        release: Callable[[], None] = lambda: None,
    ) -> None:
        """``ensure`` makes the store's tables where they are missing; ``wait``: seconds that events wait for the
        database before they are spooled; ``name``: the connector's, for dead letters and logs; ``release`` is called
        when all is over."""
        self._door, self._spool, self._ensure, self._wait, self._name = door, spool, ensure, wait, name
        self._release = release
        self.metrics = ConnectorMetrics()
        self._ready = False
        self._away: str | None = None
        self._hurry = threading.Event()
        self._wake = threading.Event()
        self._closed = threading.Event()
        self._retired = threading.Event()
        self._handed_over = False
        """Whether somebody else drains this very spool."""
        self._lock = threading.Lock()
        self._inside = 0
        """Calls of `take` and `keep` under way."""
        self._only_aside = False
        """Whether the last pass left nothing in the spool but what the store does not take."""
        self._looked = threading.Event()
        self._unusable: SettingsError | None = None
        self._question = Question(self._trouble, f"lineagelog-ask-{name}")
        self._refusals = Seldom(_REFUSED_SECONDS)
        self._drainer = threading.Thread(target=self._run, name=f"lineagelog-drain-{name}", daemon=True)

    # --- life -------------------------------------------------------------------------------------------------------

    def open(self, first_look: float = _FIRST_SECONDS) -> None:
        """Look whether the database is there and begin to drain what an earlier process left.

        A database that is away, or does not answer within ``first_look`` seconds, is no error: events are spooled
        until it comes. Raises SettingsError for one
        that can never hold a store, and SpoolError.
        """
        left = count_records(self._spool.folder, _size_of)
        self.metrics.spooled(left)
        self._drainer.start()
        if not self._looked.wait(first_look):
            self._begin_spooling(_SILENT)
        elif self._unusable is not None:
            self.close(_ANSWER_SECONDS)
            raise self._unusable
        if left:
            _log.info("events of an earlier run are in the spool", action="drain", connector=self._name, events=left)
            self._wake.set()

    def hurry(self) -> None:
        """From now on nothing waits for the database: what cannot be stored at once is spooled."""
        self._hurry.set()

    def retire(self, *, handed_over: bool = False) -> None:
        """No more events come: what is in the spool is stored, then all is given back; returns at once.

        ``handed_over``: somebody else drains the same spool from now on.
        """
        self.hurry()
        self._handed_over = self._handed_over or handed_over
        self._retired.set()
        self._wake.set()

    @property
    def folder(self) -> Path:
        """The folder of the spool."""
        return self._spool.folder

    @property
    def spool_max_bytes(self) -> int:
        """The most that the spool takes."""
        return self._spool.max_bytes

    def spool_bytes(self) -> int | None:
        """How many wait in the spool; None if nobody can say now."""
        try:
            return self._spool.stats().waiting_bytes
        except (OSError, SpoolError):
            return None

    def close(self, timeout: float) -> bool:
        """End the drainer after what it is storing; whether it ended within ``timeout`` seconds."""
        self.hurry()
        self._closed.set()
        self._wake.set()
        if self._drainer.ident is not None:
            self._drainer.join(timeout)
        self._spool.close()
        return not self._drainer.is_alive()

    @property
    def patience(self) -> float:
        """How many seconds an attempt to store may take before its events had better be spooled."""
        return 1.0 if self._hurry.is_set() else self._wait + 2.0

    def database(self, *, ask: bool = True) -> str:
        """``up``, or ``away: …`` with the reason, within seconds; without ``ask`` as it was last seen."""
        reason = self._away
        if reason is None and ask:
            reason = self._question.answer(_ANSWER_SECONDS, _SILENT)
        return "up" if reason is None else f"away: {reason}"

    def _trouble(self) -> str | None:
        try:
            self._door.store.check_version()
        except Exception as error:
            return _told(error)
        return None

    # --- events -----------------------------------------------------------------------------------------------------

    def take(self, bodies: Sequence[bytes]) -> Failures:
        """Store events, or spool them; returns when they are safe, with the failures of those that are not."""
        with self._entered():
            return self.keep(bodies) if self._away is not None else self._take(bodies)

    def _take(self, bodies: Sequence[bytes]) -> Failures:
        end = time.monotonic() + self._wait
        while True:
            try:
                self._store(bodies)
            except PartitionMissing:
                return self._take_singly(bodies)
            except _AWAY as error:
                rest = end - time.monotonic()
                if rest <= 0 or self._hurry.wait(min(_RETRY, rest)):
                    self._begin_spooling(str(error))
                    return self.keep(bodies)
            except Exception:  # of one event, or a defect of ours; the event is kept until a version takes it
                return self._take_singly(bodies)
            else:
                return {}

    def overtake(self, bodies: Sequence[bytes]) -> Failures:
        """Spool events of which a `take` has not returned in time; should it store them all the same, no harm."""
        self._begin_spooling(_SILENT)
        return self.keep(bodies)

    def keep(self, bodies: Sequence[bytes]) -> Failures:
        """Put events into the spool; they are on the disk on return, but for the failures."""
        with self._entered():
            return self._keep(bodies)

    @contextlib.contextmanager
    def _entered(self) -> Iterator[None]:
        with self._lock:
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1

    def _keep(self, bodies: Sequence[bytes]) -> Failures:
        failures: Failures = {}
        try:
            self._spool_all(bodies)
        except SpoolFull as full:
            for index, body in enumerate(bodies):
                try:
                    if len(bodies) == 1:
                        raise full
                    self._spool_all([body])
                except SpoolError as error:
                    failures[index] = self._lost(error)
        except SpoolError as error:
            failures = dict.fromkeys(range(len(bodies)), self._lost(error))
        if failures:
            self.metrics.failed(len(failures))
            if (events := self._refusals.admit(len(failures))) is not None:
                said = {"events": events, "error": next(iter(failures.values()))}
                _log.error("events refused", action="spool", connector=self._name, **said)
        self._wake.set()
        return failures

    def _take_singly(self, bodies: Sequence[bytes]) -> Failures:
        """Store each by itself and spool those that cannot be: one event's trouble is not the others'."""
        aside: list[int] = []
        for index, body in enumerate(bodies):
            try:
                if (refusal := self._refusal(body)) is not None:
                    _log.warning("event set aside", action="spool", connector=self._name, error=refusal)
                    aside.append(index)
            except _AWAY:
                aside += range(index, len(bodies))
                break
        failures = self.keep([bodies[index] for index in aside]) if aside else {}
        return {aside[place]: text for place, text in failures.items()}

    def _refusal(self, body: bytes) -> str | None:
        """Store one event; why the store does not take it, None if it did. Raises when the database is away."""
        try:
            self._store([body])
        except PartitionMissing as error:
            return str(error)
        except _AWAY:
            raise
        except Exception as error:
            return _told(error)
        return None

    def _store(self, bodies: Sequence[bytes]) -> None:
        if not self._ready:
            self._ensure()
            self._ready = True
        events, positions = self._apart(bodies)
        try:
            outcomes = self._door.take(events, source=SOURCE, positions=positions)
        except Exception as error:
            self.metrics.append_failed(type(error).__name__)
            if isinstance(error, StoreNotCreated):
                self._forget()
            raise
        self.metrics.count(outcomes)

    def _apart(self, bodies: Sequence[bytes]) -> tuple[list[bytes], list[str]]:
        """The single events and their places: a daemon passes on an array as it came, as one event."""
        events: list[bytes] = []
        positions: list[str] = []
        for body in bodies:
            framed = split(body) if len(body) <= MAX_REQUEST else None
            if framed is None or not framed.is_batch or framed.is_broken:
                events.append(body)
                positions.append(self._name)
                continue
            events += framed.events
            positions += [f"{self._name}[{index}]" for index in range(len(framed.events))]
        return events, positions

    def _forget(self) -> None:
        self._ready = False
        self._door.store.forget()

    def _spool_all(self, bodies: Sequence[bytes], *, is_kept: bool = False) -> None:
        """``is_kept``: they are in the spool already, and are acknowledged next, so that it may be full."""
        self._spool.append(msgspec.msgpack.encode(bodies), may_exceed=is_kept)
        self.metrics.spooled(len(bodies))

    def _lost(self, error: SpoolError) -> str:
        return f"the event is not kept: the database is away ({self._away or 'or refuses it'}), and {error}"

    def _begin_spooling(self, reason: str) -> None:
        if self._away is None:
            _log.warning("the database is away: events are spooled", action="spool", connector=self._name, error=reason)
        self._away = reason
        self._wake.set()

    # --- draining, on its own thread --------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._look_first()
            while not self._closed.is_set() and not self._is_done():
                woken = self._wake.wait(_LEAVING_SECONDS if self._retired.is_set() else _LOOK_SECONDS)
                self._wake.clear()
                if woken or self.spool_bytes():
                    self._empty()
            if self._retired.is_set():
                _log.info("all is given back", action="connector", connector=self._name, **self.metrics.as_dict())
        finally:
            self._spool.close()
            self._release()

    def _look_first(self) -> None:
        try:
            self._look()
        except SettingsError as error:
            self._unusable = error
            if self._looked.is_set():
                self._begin_spooling(str(error))
        except Exception as error:  # a start that fails is the last: rather spool than fail
            self._begin_spooling(_told(error))
        finally:
            self._looked.set()

    def _is_done(self) -> bool:
        """Whether a retired keeper has nothing left to do: nobody is inside, and nothing in the spool is for us."""
        with self._lock:
            if not self._retired.is_set() or self._inside:
                return False
        return self._handed_over or not self.spool_bytes() or self._only_aside

    def _empty(self) -> None:
        """Try until the spool is empty, or a retired keeper has tried all that the store may take."""
        failures = 0
        while not self._closed.is_set() and (pause := self._pass(failures)) is not None:
            failures += 1
            if self._retired.is_set() and (self._handed_over or self._only_aside):
                return
            self._closed.wait(pause)

    def _pass(self, failures: int) -> float | None:
        """Empty the spool once: None when all is done, else the seconds until the next attempt."""
        pause = pause_after(failures + 1, first=_FIRST_PAUSE, longest=_LONGEST_PAUSE)
        self._only_aside = False
        try:
            with self._spool.reader() as reader:
                self._look()
                aside = self._drain(reader)
        except SpoolBusy:
            return pause  # another connector, or another process, drains it
        except LineageLogError as error:
            if self._away is None or isinstance(error, SpoolError):
                _log.warning("the spool cannot be drained", action="drain", connector=self._name, error=str(error))
            if isinstance(error, SpoolError):
                self._look_without_spool()
            return pause
        except Exception as error:
            _log.error("the spool cannot be drained", action="drain", connector=self._name, error=_told(error))
            return _LONGEST_PAUSE
        self._come_back()
        self._only_aside = aside > 0
        return _ASIDE_PAUSE if aside else None

    def _look_without_spool(self) -> None:
        """What lies in a spool that cannot be used must not keep events from a database that is back."""
        try:
            self._look()
        except LineageLogError:
            return
        self._come_back()

    def _come_back(self) -> None:
        if self._away is not None:
            _log.info("the database is back", action="drain", connector=self._name)
            self._away = None

    def _look(self) -> None:
        """Ask the database, and make the tables if they are missing. Raises what says that it is away."""
        try:
            if not self._ready:
                self._ensure()
                self._ready = True
            self._door.store.check_version()
        except StoreNotCreated:
            self._forget()
            raise

    def _drain(self, reader: SpoolReader) -> int:
        """Store what is in the spool now; returns how many events the store did not take. Those are in it again."""
        left = self._spool.stats().waiting_bytes
        drained = aside = 0
        while left > 0 and not self._closed.is_set():
            records = reader.peek(_RECORDS, _RECORD_BYTES)
            if not records:
                break
            bodies = [body for record in records for body in _events_of(record)]
            refused = self._deliver(bodies)
            if refused:
                self._spool_all(refused, is_kept=True)
            reader.ack(len(records))
            self.metrics.spooled(-len(bodies))
            drained, aside = drained + len(bodies) - len(refused), aside + len(refused)
            left -= sum(HEADER_BYTES + len(record) for record in records)
        if drained:
            _log.info("events of the spool are stored", action="drain", connector=self._name, events=drained)
        if not reader.peek(1):
            self.metrics.spool_is_empty()
        return aside

    def _deliver(self, bodies: list[bytes]) -> list[bytes]:
        """Store events of the spool; returns those that the store does not take."""
        try:
            if bodies:
                self._store(bodies)
            return []
        except PartitionMissing:
            pass
        except _AWAY:
            raise
        except Exception as error:
            _log.debug("append failed", action="drain", connector=self._name, error=_told(error))
        refusals = [(body, refusal) for body in bodies if (refusal := self._refusal(body)) is not None]
        if refusals:
            said = {"events": len(refusals), "error": refusals[0][1]}
            _log.warning("events stay set aside", action="drain", connector=self._name, **said)
        return [body for body, _ in refusals]


def _events_of(record: bytes) -> list[bytes]:
    """The events of a record; what is no record of ours is one event itself, and becomes a dead letter."""
    try:
        return _RECORD.decode(record)
    except msgspec.DecodeError:
        return [record]


def _size_of(record: bytes) -> int:
    return len(_events_of(record))


def _told(error: BaseException) -> str:
    """Our own errors say what is wrong; of others only kind and place are told: their text may quote an event."""
    return str(error) if isinstance(error, LineageLogError) else place_of(error)


_RECORD: Final = msgspec.msgpack.Decoder(list[bytes])
