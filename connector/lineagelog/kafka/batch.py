"""The records that are stored together, and the offsets that move with them."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec import Struct

from lineagelog.store.ledgers.kafka_offsets import Move, PartitionPlace

from .records import Item, positions_of


class Record(Struct, frozen=True, gc=False):
    """One record of a topic, parsed."""

    place: PartitionPlace
    offset: int
    items: list[Item]
    """Empty for a tombstone."""
    size: int
    """Bytes as received."""


class OffsetSpan(Struct):
    """The part of a partition that a batch covers."""

    epoch: int
    before: int
    after: int


class Batch:
    """Records in the order they came, with the offsets before and after them."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.spans: dict[PartitionPlace, OffsetSpan] = {}
        self.events = 0
        self.size = 0

    def __bool__(self) -> bool:
        return bool(self.spans)

    def add(self, record: Record, epoch: int, before: int) -> None:
        """Take a record; ``before`` is where its partition was."""
        self.records.append(record)
        self.events += len(record.items)
        self.size += record.size
        self.reach(record.place, epoch, before, record.offset + 1)

    def reach(self, place: PartitionPlace, epoch: int, before: int, after: int) -> None:
        """Move a partition without a record: over what Kafka keeps for itself, such as marks of transactions."""
        span = self.spans.get(place)
        if span is None:
            self.spans[place] = OffsetSpan(epoch, before, after)
        else:
            span.after = after

    def drop(self, places: Collection[PartitionPlace]) -> None:
        """Forget the records of partitions that belong to others now."""
        self.records = [record for record in self.records if record.place not in places]
        self.spans = {place: span for place, span in self.spans.items() if place not in places}
        self.events = sum(len(record.items) for record in self.records)
        self.size = sum(record.size for record in self.records)

    @property
    def items(self) -> list[Item]:
        """The events of all records."""
        return [item for record in self.records for item in record.items]

    @property
    def positions(self) -> list[str]:
        """The place of each event."""
        return [
            position
            for record in self.records
            for position in positions_of(*record.place, record.offset, len(record.items))
        ]

    @property
    def moves(self) -> list[Move]:
        """What the offsets do when the batch is stored, in order of partitions: writers that meet never deadlock."""
        return [Move(place, span.epoch, span.before, span.after) for place, span in sorted(self.spans.items())]

    def halves(self) -> Iterator[Batch]:
        """Two batches, the second to follow the first; together they are this one."""
        middle = len(self.records) // 2
        reached = {place: span.before for place, span in self.spans.items()}
        first, second = Batch(), Batch()
        for index, record in enumerate(self.records):
            part = first if index < middle else second
            part.add(record, self.spans[record.place].epoch, reached[record.place])
            reached[record.place] = record.offset + 1
        for place, span in self.spans.items():
            if reached[place] < span.after:
                second.reach(place, span.epoch, reached[place], span.after)
        yield from (first, second)
