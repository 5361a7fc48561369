"""One worker: polls Kafka, parses while its writer stores, and moves offsets with the events.

The polling thread never waits for the database: it claims, stores and asks through the writer's tasks, and pauses the
partitions when the writer has enough. So Kafka never takes partitions away because the database is slow.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from enum import Enum, auto
from operator import methodcaller
from typing import Any, Final
from uuid import uuid4

import structlog
from confluent_kafka import Consumer, KafkaException, Message, TopicPartition
from confluent_kafka import KafkaError as ClientError

from lineagelog.backoff import pause_after
from lineagelog.errors import KafkaError, LineageLogError
from lineagelog.intake import Door
from lineagelog.intake.bulk import rare_collections
from lineagelog.intake.group import place_of
from lineagelog.store.ledgers.kafka_offsets import Claim, KafkaOffsets, LostPlaces, PartitionPlace

from .batch import Batch, Record
from .cluster import KafkaCluster, answered, topic_id_of
from .metrics import WorkerMetrics
from .options import ConsumerOptions, text_of
from .records import Headers, Item, items_of
from .tasks import ClaimPlaces, Once, StoreBatch, Stored, refusal
from .writer import Dropped, Writer

_QUEUED: Final = 2
"""Batches with the writer: one at work, and the next, so that it need not wait for it."""
_PATIENCE: Final = 0.5
"""Seconds without a poll while the writer is busy, before the partitions are paused; pausing drops what was fetched."""
_SHORTEST_POLL: Final = 0.005
_LONGEST_POLL: Final = 0.5
_USUAL_SIZE: Final = 8 * 1024
"""Bytes of a record, until some have been seen."""
_REVOKE_SECONDS: Final = 5.0
"""What a rebalance waits for batches on their way; later ones are fenced and read again by the new owner."""
_STOP_SECONDS: Final = 5.0
_STOP_AWAY_SECONDS: Final = 1.0
_CLOSE_SECONDS: Final = 3.0
_ENDS_EVERY: Final = 5.0
_TELL_EVERY: Final = 10.0
_ASK_EVERY: Final = 0.3
_LOG_EVERY: Final = 60.0
_SAME_ERROR_SECONDS: Final = 60.0
_OUT_OF_RANGE_DELAY: Final = 0.5
_FIRST_CLAIM_PAUSE: Final = 2.0
_LONGEST_CLAIM_PAUSE: Final = 30.0

_ask_headers: Final = methodcaller("headers")

_log = structlog.get_logger(__name__)


class State(Enum):
    """How far we are with a partition that Kafka gave us."""

    WAITING = auto()
    """To be claimed when its time has come."""
    ASKED = auto()
    """Being claimed."""
    ACTIVE = auto()
    """Claimed and read."""


@dataclass(slots=True, eq=False)
class Holding:
    """A partition that Kafka gave us."""

    due: float
    state: State = State.WAITING
    epoch: int = 0
    topic_id: str | None = None
    """Of the topic that the claim is for."""
    position: int = 0
    """The next offset to be taken."""
    stored: int = 0
    """All before it is stored."""
    fenced: int = 0
    """Times in a row that it was claimed by another worker."""
    is_out_of_range: bool = False
    """Whether the brokers say that they do not have what follows."""


class Worker:
    """Consumes until it is stopped, or until its group has stored all before ``until``.

    run() keeps ``metrics`` up to date, and calls ``report`` with them several times a second.
    """

    def __init__(
        self,
        door: Door,
        options: ConsumerOptions,
        *,
        stop: threading.Event,
        number: int = 0,
        until: Mapping[PartitionPlace, int] | None = None,
        report: Callable[[WorkerMetrics], None] = lambda _: None,
    ) -> None:
        self.metrics = WorkerMetrics()
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
        self._door, self._options, self._stop, self._until, self._report = door, options, stop, until, report
        self._offsets = KafkaOffsets(door.store.database, options.group, self.owner)
        self._cluster = KafkaCluster(options)
        self._consumer: Consumer = options.open_consumer(number, self._note_error)
        self._writer = Writer()
        self._held: dict[PartitionPlace, Holding] = {}
        self._batch = Batch()
        self._is_paused = self._is_dry = self._is_done = False
        self._record_size = _USUAL_SIZE
        self._ends: dict[PartitionPlace, int] = {}
        self._asked_ends: dict[PartitionPlace, Future[Any]] = {}
        self._asked_ids: dict[str, Future[Any]] = {}
        self._next: dict[str, float] = {}
        self._said: dict[str, float] = {}

    def run(self) -> None:
        """Consume. Raises KafkaError if the client has failed for good."""
        about = {"brokers": self._options.brokers, "topics": list(self._options.topics), "group": self._options.group}
        _log.info("consuming", action="start", owner=self.owner, **about)
        callbacks = {"on_assign": self._assigned, "on_revoke": self._revoked, "on_lost": self._lost}
        self._consumer.subscribe(list(self._options.topics), **callbacks)
        try:
            with rare_collections():
                while not self._stop.is_set() and not self._is_done:
                    self._turn()
        except KafkaException as error:
            raise KafkaError(f"the Kafka client has failed: {text_of(error)}") from error
        finally:
            self._close()

    def _turn(self) -> None:
        self._writer.finish()
        self._claim()
        self._hand_over()
        room = self._room()
        messages = self._consumer.consume(room, min(max(self._options.linger, _SHORTEST_POLL), _LONGEST_POLL))
        for message in messages:
            self._take(message)
            if self._is_full:
                self._hand_over(patience=0)
        self._is_dry = len(messages) < room
        self._look_around()
        self._report(self.metrics)

    def _room(self) -> int:
        """How many records to ask for: by what was seen last, they will not be much more than a batch may hold."""
        events = self._options.batch - self._batch.events
        records = (self._options.batch_size - self._batch.size) // max(self._record_size, 1)
        return max(min(events, records), 1)

    # --- records --------------------------------------------------------------------------------------------------

    def _take(self, message: Message) -> None:
        place = PartitionPlace(message.topic() or "", message.partition() or 0)
        holding = self._held.get(place)
        error, offset = message.error(), message.offset() or 0
        if error is not None:
            self._take_error(place, holding, error, offset)
        elif holding is not None and holding.state is State.ACTIVE and offset >= holding.position:
            value = message.value()
            items = [] if value is None else self._items(value, _headers_of(message))
            size = 0 if value is None else len(value)
            self._batch.add(Record(place, offset, items, size), holding.epoch, holding.position)
            holding.position = offset + 1

    def _items(self, value: bytes, headers: Headers) -> list[Item]:
        try:
            return items_of(value, headers, self._door.parse)
        except Exception as error:  # a defect of ours must neither end the worker nor hold up the partition
            _log.error("parse failed", action="parse", error=place_of(error))
            return [refusal(value, f"internal error: {place_of(error)}")]

    def _take_error(self, place: PartitionPlace, holding: Holding | None, error: ClientError, offset: int) -> None:
        code = error.code()
        if code == ClientError._PARTITION_EOF:
            if holding is not None and holding.state is State.ACTIVE and offset > holding.position:
                self._batch.reach(place, holding.epoch, holding.position, offset)
                holding.position = offset
        elif code == ClientError._AUTO_OFFSET_RESET:
            if holding is not None and holding.state is State.ACTIVE:
                holding.is_out_of_range = True
                self._claim_again({place: _OUT_OF_RANGE_DELAY})
        elif error.fatal():
            raise KafkaException(error)
        else:
            self._note_error(error)

    # --- batches --------------------------------------------------------------------------------------------------

    @property
    def _is_full(self) -> bool:
        return self._batch.events >= self._options.batch or self._batch.size >= self._options.batch_size

    def _hand_over(self, patience: float = _PATIENCE) -> None:
        """Give the writer what was gathered; pause the partitions while it has enough to do."""
        if self._batch and (self._is_full or self._is_dry) and self._writer_has_room(patience):
            batch, self._batch = self._batch, Batch()
            self._record_size = batch.size // max(len(batch.records), 1)
            then: Callable[[Any], None] = lambda result: self._stored(batch, result)  # noqa: E731
            self._writer.submit(StoreBatch(self._door.store, self._offsets, batch, self.metrics.append_failed, then))
        if patience and self._is_full is not self._is_paused:
            self._is_paused = self._is_full
            self._pause(self._active(), is_paused=self._is_paused)

    def _writer_has_room(self, patience: float) -> bool:
        """Whether a batch may be handed over; one that is not full grows while the writer is busy."""
        if self._is_full:
            return self._writer.wait(_QUEUED - 1, 0 if self._is_paused else patience)
        return self._writer.pending == 0

    def _active(self) -> list[PartitionPlace]:
        return [place for place, holding in self._held.items() if holding.state is State.ACTIVE]

    def _pause(self, places: Iterable[PartitionPlace], *, is_paused: bool) -> None:
        partitions = [TopicPartition(*place) for place in places]
        with contextlib.suppress(KafkaException):  # not ours any more: the callback will say so
            (self._consumer.pause if is_paused else self._consumer.resume)(partitions)

    def _stored(self, batch: Batch, result: Stored | Exception) -> None:
        metrics = self.metrics
        if isinstance(result, LostPlaces):
            self._fenced(result)
        elif isinstance(result, Stored):
            metrics.batches += 1
            metrics.records += len(batch.records)
            metrics.tombstones += sum(1 for record in batch.records if not record.items)
            metrics.count(result.outcomes)
            self._hint({place: span.after for place, span in batch.spans.items()})
        elif not isinstance(result, Dropped):
            raise result

    def _hint(self, offsets: Mapping[PartitionPlace, int]) -> None:
        """Let the client commit these to Kafka when it commits next; nothing depends on it."""
        kept = [(place, offset) for place, offset in offsets.items() if place in self._held]
        for place, offset in kept:
            self._held[place].fenced, self._held[place].stored = 0, offset
        with contextlib.suppress(KafkaException):  # just taken away
            self._consumer.store_offsets(offsets=[TopicPartition(*place, offset) for place, offset in kept])

    # --- partitions -----------------------------------------------------------------------------------------------

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Take partitions, paused until they are claimed: only then is known where to read."""
        self.metrics.rebalances += 1
        consumer.incremental_assign([TopicPartition(each.topic, each.partition, 0) for each in partitions])
        consumer.pause(partitions)
        places = _places(partitions)
        self._held |= {place: Holding(due=0.0) for place in places}
        _log.info("assigned", action="rebalance", partitions=[*map(str, places)])

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Give partitions back: what is with the writer is finished if it can be, the rest is the next owner's."""
        places = _places(partitions)
        self._batch.drop(places)
        finished = self._writer.wait(0, _REVOKE_SECONDS if self._writer.problem is None else 0)
        self._writer.finish()
        self._forget(places)
        consumer.incremental_unassign(partitions)
        _log.info("revoked", action="rebalance", partitions=[*map(str, places)], finished=finished)

    def _lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Partitions that are another's already: whoever claims them fences us."""
        places = _places(partitions)
        self._batch.drop(places)
        self._forget(places)
        consumer.incremental_unassign(partitions)
        _log.warning("lost", action="rebalance", partitions=[*map(str, places)])

    def _forget(self, places: Iterable[PartitionPlace]) -> None:
        for place in places:
            for known in (self._held, self._ends, self.metrics.lags):
                known.pop(place, None)

    def _claim(self) -> None:
        now = time.monotonic()
        due = {place: each for place, each in self._held.items() if each.state is State.WAITING and each.due <= now}
        if not due:
            return
        for holding in due.values():
            holding.state = State.ASKED
        flags = {place: holding.is_out_of_range for place, holding in due.items()}
        is_ours: Callable[[PartitionPlace], bool] = lambda place: self._held.get(place) is due[place]  # noqa: E731
        then: Callable[[Any], None] = lambda result: self._claimed(due, result)  # noqa: E731
        self._writer.submit(ClaimPlaces(self._cluster, self._offsets, flags, is_ours, self.metrics.append_failed, then))

    def _claimed(
        self, asked: Mapping[PartitionPlace, Holding], result: dict[PartitionPlace, Claim] | Exception
    ) -> None:
        if isinstance(result, Exception) and not isinstance(result, LineageLogError):
            raise result
        claims = {} if isinstance(result, Exception) else result
        for place, holding in asked.items():
            if self._held.get(place) is holding:
                claim = claims.get(place)
                if claim is None or not self._seek(place, claim.next_offset):
                    holding.state, holding.due = State.WAITING, time.monotonic() + 1.0
                    continue
                holding.state, holding.is_out_of_range = State.ACTIVE, False
                holding.epoch, holding.topic_id = claim.epoch, claim.topic_id
                holding.position = holding.stored = claim.next_offset
                self.metrics.skipped += claim.skipped
        missing = [str(place) for place in asked if place not in claims and place in self._held]
        if missing and not isinstance(result, Dropped):
            self._say_once("partitions cannot be asked where they begin", action="claim", partitions=missing)

    def _seek(self, place: PartitionPlace, offset: int) -> bool:
        partition = TopicPartition(*place, offset)
        try:
            try:
                self._consumer.seek(partition)
            except KafkaException:  # after records out of range the client has stopped to fetch: begin anew
                self._consumer.incremental_unassign([partition])
                self._consumer.incremental_assign([partition])
        except KafkaException as error:
            self._say_once("cannot seek", action="claim", partition=str(place), error=text_of(error))
            return False
        self._pause([place], is_paused=self._is_paused)
        return True

    def _fenced(self, lost: LostPlaces) -> None:
        """A batch was not stored: read on from where PostgreSQL is, and leave lost partitions to their owner first.

        Kafka will tell that they are another's. If it does not, the claim was a mistake, and is made again.
        """
        if lost.places:
            self.metrics.fenced += 1
            _log.warning("fenced: nothing of the batch was stored", action="store", error=str(lost))
        delays = dict.fromkeys(self._active(), 0.0)
        for place in lost.places:
            if (holding := self._held.get(place)) is not None:
                holding.fenced += 1
                delays[place] = pause_after(holding.fenced, first=_FIRST_CLAIM_PAUSE, longest=_LONGEST_CLAIM_PAUSE)
        self._claim_again(delays)

    def _claim_again(self, delays: Mapping[PartitionPlace, float]) -> None:
        self._batch.drop(delays.keys())
        self._pause(delays, is_paused=True)
        now = time.monotonic()
        for place, delay in delays.items():
            holding = self._held[place]
            if holding.state is State.ACTIVE:
                holding.state, holding.due = State.WAITING, now + delay

    # --- besides --------------------------------------------------------------------------------------------------

    def _look_around(self) -> None:
        if self._asked_ends and all(future.done() for future in self._asked_ends.values()):
            found = {place: answered(future) for place, future in self._asked_ends.items()}
            self._ends |= {place: end.offset for place, end in found.items() if end is not None and place in self._held}
            self._asked_ends = {}
        self._look_for_new_topics()
        active = self._active()
        if active and not self._asked_ends and self._is_time("ends", _ENDS_EVERY):
            self._asked_ends = self._cluster.ask_ends(active)
        self.metrics.problem = self._writer.problem
        self.metrics.lags = {place: (self._held[place].stored, self._ends.get(place)) for place in active}
        is_idle = self._writer.pending == 0
        if active and self._writer.problem is None and self._is_time("tell", _TELL_EVERY):
            epochs, ends = {place: self._held[place].epoch for place in active}, dict(self._ends)
            self._writer.submit(Once(lambda: self._offsets.tell(epochs, ends), lambda _: None))
        if self._until is not None and is_idle and not self._batch and self._is_time("until", _ASK_EVERY):
            self._writer.submit(Once(self._offsets.positions, self._check_until))
        if self._is_time("log", _LOG_EVERY, at_first=False):
            metrics = self.metrics
            counts = {"records": metrics.records, "stored": metrics.stored, "dead": metrics.dead, "lag": metrics.lag}
            _log.info("consumed", action="consume", **counts, problem=metrics.problem)

    def _look_for_new_topics(self) -> None:
        """Claim again what is another topic of the same name now: the client goes on in it where the old one was."""
        if self._asked_ids and all(future.done() for future in self._asked_ids.values()):
            found = {topic: topic_id_of(future) for topic, future in self._asked_ids.items()}
            self._asked_ids = {}
            pairs = {place: (self._held[place].topic_id, found.get(place.topic)) for place in self._active()}
            self._claim_again({place: 0.0 for place, ids in pairs.items() if None not in ids and ids[0] != ids[1]})
        topics = {place.topic for place in self._active()}
        if topics and not self._asked_ids and self._is_time("ids", _ENDS_EVERY):
            self._asked_ids = self._cluster.ask_ids(topics)

    def _check_until(self, positions: dict[PartitionPlace, int] | Exception) -> None:
        if isinstance(positions, dict) and self._until is not None:
            self._is_done = all(positions.get(place, -1) >= end for place, end in self._until.items())

    def _is_time(self, what: str, every: float, *, at_first: bool = True) -> bool:
        now = time.monotonic()
        due = self._next.get(what, now if at_first else now + every)
        self._next[what] = now + every if due <= now else due
        return due <= now

    def _note_error(self, error: ClientError) -> None:
        """What the client tells of brokers and topics; it goes on trying by itself."""
        self._say_once(f"Kafka: {text_of(error)}", action="kafka", error=error.name())

    def _say_once(self, text: str, **about: Any) -> None:
        """Say something now, and the same again not before a minute is over."""
        now = time.monotonic()
        if now - self._said.get(text, -_SAME_ERROR_SECONDS) >= _SAME_ERROR_SECONDS:
            self._said[text] = now
            _log.warning(text, **about)

    # --- the end --------------------------------------------------------------------------------------------------

    def _close(self) -> None:
        """Finish what is with the writer, commit the hints, leave the group; all of it within bounds."""
        self._batch = Batch()
        seconds = _STOP_SECONDS if self._writer.problem is None else _STOP_AWAY_SECONDS
        finished = self._writer.stop(seconds)
        with contextlib.suppress(Exception):  # what cannot be done now is done after the next start
            self._writer.finish()
        closing = threading.Thread(target=self._consumer.close, name="lineagelog-kafka-close", daemon=True)
        closing.start()
        closing.join(_CLOSE_SECONDS)
        self._report(self.metrics)
        _log.info(
            "stopped", action="stop", finished=finished, left=not closing.is_alive(), records=self.metrics.records
        )


def _places(partitions: Collection[TopicPartition]) -> list[PartitionPlace]:
    return [PartitionPlace(each.topic, each.partition) for each in partitions]


def _headers_of(message: Message) -> Headers:
    """The headers; None for those of which one has a name that is no UTF-8: the client fails to give them.

    It gives a broken list along with an error, which only a call through C is sure to check for.
    """
    try:
        headers: Headers = _ask_headers(message)
    except (SystemError, UnicodeError):
        return None
    return headers
