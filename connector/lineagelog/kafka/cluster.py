"""What is asked of the brokers besides records: whether they and the topics are there, and where partitions end."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, wait
from typing import Any, Final

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec
from msgspec import Struct

from lineagelog.errors import KafkaError, SettingsError
from lineagelog.store.ledgers.kafka_offsets import PartitionPlace

from .options import ConsumerOptions, text_of

_ASK_SECONDS: Final = 5.0
_AGAIN_SECONDS: Final = 0.5
_REFUSED: Final = frozenset((ClientError._AUTHENTICATION, ClientError.SASL_AUTHENTICATION_FAILED, ClientError._SSL))
_EARLIEST: Final[OffsetSpec] = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
_LATEST: Final[OffsetSpec] = OffsetSpec.latest()  # type: ignore[no-untyped-call]
_NO_TOPIC_ID: Final = "AAAAAAAAAAAAAAAAAAAAAA"
"""The zero id, of brokers before 2.8."""


class Stopped(Exception):
    """Told to stop while waiting for the brokers."""


class Extent(Struct, frozen=True):
    """What Kafka has of a partition."""

    low: int
    """The first offset that is still there."""
    high: int
    """The offset of the next record to come (the high watermark)."""
    topic_id: str | None


class KafkaCluster:
    """The brokers. Safe for many threads."""

    def __init__(self, options: ConsumerOptions, stop: threading.Event | None = None) -> None:
        """``stop`` ends the wait for brokers and topics."""
        self._options = options
        self._stop = stop or threading.Event()
        self._last: ClientError | None = None
        self._admin: AdminClient = options.open_admin(self._note)

    @property
    def offset_reset(self) -> str:
        """Where a group begins that has read nothing: `earliest` or `latest`."""
        return self._options.offset_reset

    def _note(self, error: ClientError) -> None:
        if error.code() != ClientError._ALL_BROKERS_DOWN or self._last is None:  # it says less than the one before
            self._last = error

    def check(self) -> dict[str, int]:
        """The number of partitions of each topic.

        Waits ``start_timeout`` seconds for brokers and topics to be there, then raises KafkaError; SettingsError at
        once if the brokers refuse us, and Stopped when told to stop meanwhile.
        """
        deadline = time.monotonic() + self._options.start_timeout
        while True:
            found, problem = self._partitions(max(min(deadline - time.monotonic(), _ASK_SECONDS), 0.1))
            if not problem:
                return found
            self._admin.poll(0)
            if self._last is not None and self._last.code() in _REFUSED:
                raise SettingsError(f"TLS or login at the Kafka brokers fails: {text_of(self._last)}")
            if time.monotonic() >= deadline:
                raise KafkaError(problem if self._last is None else f"{problem}: {text_of(self._last)}")
            if self._stop.wait(_AGAIN_SECONDS):
                raise Stopped

    def _partitions(self, timeout: float) -> tuple[dict[str, int], str]:
        """Per topic the number of partitions, and what is wrong."""
        brokers = self._options.brokers
        try:
            topics = self._admin.list_topics(timeout=timeout).topics
        except KafkaException as error:
            self._admin.poll(0)
            return {}, f"no Kafka broker can be reached at {brokers}" + ("" if self._last else f": {text_of(error)}")
        self._last = None
        missing = [name for name in self._options.topics if name not in topics or topics[name].error is not None]
        if missing:
            return {}, f"topic {missing[0]!r} is not there, or we may not see it (brokers {brokers})"
        return {name: len(topics[name].partitions) for name in self._options.topics}, ""

    def places(self) -> list[PartitionPlace]:
        """All partitions of the topics. Raises as check() does."""
        return [PartitionPlace(topic, number) for topic, count in self.check().items() for number in range(count)]

    def look(self, places: Iterable[PartitionPlace]) -> dict[PartitionPlace, Extent]:
        """What Kafka has of partitions; those that cannot be asked now are missing. Takes five seconds at most."""
        wanted = list(places)
        lows, highs = self._ask(wanted, _EARLIEST), self.ask_ends(wanted)
        ids = self.ask_ids({place.topic for place in wanted})
        wait([*lows.values(), *highs.values(), *ids.values()], _ASK_SECONDS)
        topic_ids = {topic: topic_id_of(future) for topic, future in ids.items()}
        found: dict[PartitionPlace, Extent] = {}
        for place in wanted:
            low, high = answered(lows[place]), answered(highs[place])
            if low is not None and high is not None:
                found[place] = Extent(low.offset, high.offset, topic_ids[place.topic])
        return found

    def ask_ends(self, places: Iterable[PartitionPlace]) -> dict[PartitionPlace, Future[Any]]:
        """Ask where partitions end; the answers have an ``offset``."""
        return self._ask(places, _LATEST)

    def ask_ids(self, topics: Iterable[str]) -> dict[str, Future[Any]]:
        """Ask for what tells a topic from another of the same name; topic_id_of() reads the answers."""
        answers: dict[str, Future[Any]] = self._admin.describe_topics(TopicCollection([*topics]))
        return answers

    def ends(self, timeout: float = _ASK_SECONDS) -> dict[PartitionPlace, int]:
        """Where all partitions end that hold anything. Raises KafkaError."""
        places = self.places()
        deadline = time.monotonic() + timeout
        while len(found := self.look(places)) < len(places):
            if time.monotonic() > deadline:
                raise KafkaError(f"the brokers {self._options.brokers} do not say where the topics end")
        return {place: extent.high for place, extent in found.items() if extent.high > extent.low}

    def _ask(self, places: Iterable[PartitionPlace], spec: OffsetSpec) -> dict[PartitionPlace, Future[Any]]:
        question = {TopicPartition(*place): spec for place in places}
        if not question:
            return {}
        answers: Mapping[Any, Future[Any]] = self._admin.list_offsets(question, request_timeout=_ASK_SECONDS)
        return {PartitionPlace(key.topic, key.partition): future for key, future in answers.items()}


def answered(future: Future[Any]) -> Any:
    """The answer; None while there is none, and where it is an error."""
    with contextlib.suppress(Exception):
        return future.result(0) if future.done() else None
    return None


def topic_id_of(future: Future[Any]) -> str | None:
    """The id in an answer to ask_ids(); None where there is none, and of brokers that give topics no ids."""
    description = answered(future)
    text = str(description.topic_id) if description is not None and description.topic_id is not None else ""
    return None if text in ("", _NO_TOPIC_ID) else text
