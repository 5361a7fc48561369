"""What a worker does in the database: claim partitions, store batches, say that it lives, ask how far its group is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import structlog
from msgspec import Struct, structs

from lineagelog.errors import ClaimLost, LineageLogError
from lineagelog.event.model import Event, Reason, Rejected
from lineagelog.intake import Outcome
from lineagelog.intake.door import outcomes
from lineagelog.intake.group import place_of
from lineagelog.store import LogStore, Verdict
from lineagelog.store.ledgers.kafka_offsets import (
    AdvancedBefore,
    Claim,
    KafkaOffsets,
    LostPlaces,
    PartitionPlace,
    Start,
)

from .batch import Batch
from .cluster import Extent, KafkaCluster
from .records import SOURCE, Item
from .writer import Writer

_DEFECT_TRIES: Final = 3

_log = structlog.get_logger(__name__)

type Then = Callable[[Any], None]
type Failed = Callable[[str], None]
"""Is told the kind of an error, each time that something cannot be stored."""


class Stored(Struct):
    """What became of a batch."""

    outcomes: list[Outcome]


class StoreBatch:
    """Store a batch and move its offsets. Result: Stored, LostPlaces, Dropped."""

    def __init__(self, store: LogStore, offsets: KafkaOffsets, batch: Batch, failed: Failed, then: Then) -> None:
        self.batch = batch
        self.then = then
        self._store, self._offsets = store, offsets
        self._failed = failed
        self._stored = Stored([])

    def run(self, writer: Writer) -> Stored:
        """Until it is stored. Raises LostPlaces, Dropped; then a part may be stored that defects had split off."""
        if writer.is_broken:
            raise LostPlaces("the batch before was fenced", ())
        try:
            self._persist(writer, self.batch)
        except ClaimLost:
            writer.is_broken = True
            raise
        return self._stored

    def _persist(self, writer: Writer, batch: Batch) -> None:
        problem: Exception | None = None
        for attempt in range(_DEFECT_TRIES):
            try:
                writer.persist(lambda: self._append(batch), "storing", self._failed)
                return
            except LineageLogError:
                raise
            except AdvancedBefore:
                self._stored.outcomes += [
                    Outcome(Verdict.DEAD if isinstance(item, Rejected) else Verdict.STORED, item)
                    for item in batch.items
                ]
                return
            except Exception as error:  # a defect of ours must neither end the worker nor hold up the partition
                self._failed(type(error).__name__)
                _log.error("append failed", action="store", events=batch.events, attempt=attempt, error=place_of(error))
                problem = error
        for part in batch.halves() if len(batch.records) > 1 else [_refused(batch, problem)]:
            self._persist(writer, part)

    def _append(self, batch: Batch) -> None:
        moves, items = batch.moves, batch.items
        appended = self._store.append(
            items,
            source=SOURCE,
            positions=batch.positions,
            in_transaction=lambda connection: self._offsets.advance(connection, moves),
        )
        self._stored.outcomes += outcomes(items, appended)


def _refused(batch: Batch, error: Exception | None) -> Batch:
    """The batch with its events as dead letters."""
    detail = f"internal error: {place_of(error) if error else 'unknown'}"

    def refuse(item: Item) -> Item:
        return item if isinstance(item, Rejected) else refusal(item.raw or item.body, detail, item)

    refused = Batch()
    refused.records = [structs.replace(record, items=[*map(refuse, record.items)]) for record in batch.records]
    refused.spans, refused.events, refused.size = batch.spans, batch.events, batch.size
    return refused


def refusal(payload: bytes, detail: str, event: Event | None = None) -> Rejected:
    """The dead letter of an event that met a defect of ours."""
    known = () if event is None else (event.run_id or None, event.job_namespace or None, event.job_name or None)
    return Rejected(Reason.INTERNAL_ERROR, "$", detail, payload, *known)


class ClaimPlaces:
    """Take partitions over and find where to go on. Result: claims by partition, without those that cannot be asked."""

    def __init__(
        self,
        cluster: KafkaCluster,
        offsets: KafkaOffsets,
        places: Mapping[PartitionPlace, bool],
        is_ours: Callable[[PartitionPlace], bool],
        failed: Failed,
        then: Then,
    ) -> None:
        self.then = then
        self._cluster, self._offsets, self._failed = cluster, offsets, failed
        self._is_ours = is_ours
        """Whether Kafka has not taken the partition away since: to claim it then would only disturb its new owner."""
        self._places = places
        """Partitions, and whether the brokers say that they do not have what follows."""

    def run(self, writer: Writer) -> dict[PartitionPlace, Claim]:
        """Look, claim and settle, tried again while the store cannot. Raises Dropped at a stop."""
        writer.is_broken = False  # what was built on a fenced batch came before this
        extents = self._cluster.look(self._places)
        starts = [Start(place, self._begin(it), it.high, it.topic_id) for place, it in extents.items()]
        claims = writer.persist(lambda: self._claim(starts), "claiming", self._failed)
        settled: dict[PartitionPlace, Claim] = {}
        for claim in claims:
            try:
                settled[claim.place] = self._settled(writer, claim, extents[claim.place])
            except ClaimLost:
                _log.info("claimed by another worker meanwhile", action="claim", partition=str(claim.place))
        return settled

    def _claim(self, starts: list[Start]) -> list[Claim]:
        return self._offsets.claim([start for start in starts if self._is_ours(start.place)])

    def _begin(self, extent: Extent) -> int:
        return extent.low if self._cluster.offset_reset == "earliest" else extent.high

    def _settled(self, writer: Writer, claim: Claim, extent: Extent) -> Claim:
        """The claim, put where Kafka has records if it has none there any more."""
        at = claim.next_offset
        about: dict[str, Any] = {"action": "claim", "partition": str(claim.place), "next_offset": at}
        if None not in (claim.topic_id, extent.topic_id) and claim.topic_id != extent.topic_id:
            begin = extent.low
            _log.warning("the topic was made anew: beginning at its start", begin=begin, **about)
        elif self._places[claim.place] and not extent.low <= at <= extent.high:
            begin = self._begin(extent)
            gone = "records were deleted by retention before they were read"
            what = gone if at < extent.low else "the topic lost records that were read already"
            _log.error(what, begin=begin, low=extent.low, high=extent.high, lost=max(begin - at, 0), **about)
        else:
            _log.info("claimed", epoch=claim.epoch, end=extent.high, first=claim.is_first, **about)
            return claim
        writer.persist(lambda: self._offsets.restart(claim, begin, extent.topic_id), "claiming", self._failed)
        skipped = max(begin - at, 0) if claim.topic_id == extent.topic_id else 0
        return structs.replace(claim, next_offset=begin, topic_id=extent.topic_id, skipped=skipped)


class Once:
    """Something that is worth one try: if it fails, the next time will tell. Result: what it gave, or the error."""

    def __init__(self, action: Callable[[], Any], then: Then) -> None:
        self.then = then
        self._action = action

    def run(self, _: Writer) -> Any:
        """Call it, on the writer's thread."""
        return self._action()
