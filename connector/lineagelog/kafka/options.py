"""What a consumer is told: brokers, topics, group, batches, and whatever librdkafka is to be set to."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException
from confluent_kafka import KafkaError as ClientError
from confluent_kafka.admin import AdminClient
from msgspec import Struct

from lineagelog.errors import SettingsError
from lineagelog.shown import mask_text

_SILENT: Final = logging.getLogger("lineagelog.kafka.silent")
"""Takes librdkafka's own lines, one for every attempt to connect; what matters of them comes as errors, too."""
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False
_DEBUG: Final = logging.getLogger("librdkafka")
"""Takes them to our log where they are asked for, by librdkafka's setting ``debug``."""
_DEBUG.setLevel(logging.DEBUG)

_DEFAULTS: Final[Mapping[str, Any]] = {
    "client.id": "lineagelog",
    "session.timeout.ms": 30_000,
    "queued.max.messages.kbytes": 32 * 1024,
    "topic.metadata.refresh.interval.ms": 60_000,
    "reconnect.backoff.max.ms": 5_000,
    "log.connection.close": False,
}
_OURS: Final[Mapping[str, Any]] = {
    "enable.auto.commit": True,  # of what store_offsets() was given, a hint for Kafka's own tools
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",  # so that a gap is seen: ClaimPlaces applies the policy
    "partition.assignment.strategy": "cooperative-sticky",
}
_ELSEWHERE: Final[Mapping[str, str]] = {
    "bootstrap.servers": "brokers",
    "metadata.broker.list": "brokers",
    "group.id": "group",
    "auto.offset.reset": "offset_reset",
}
_CONSUMER_ONLY: Final = frozenset(
    (
        *("enable.auto.commit", "enable.auto.offset.store", "enable.partition.eof", "auto.offset.reset"),
        *("partition.assignment.strategy", "group.id", "group.instance.id", "queued.max.messages.kbytes"),
    )
)


class ConsumerOptions(Struct, frozen=True):
    """The same for every worker."""

    brokers: str
    topics: tuple[str, ...]
    group: str = "lineagelog"
    workers: int = 1
    batch: int = 500
    """Events of a transaction (a record that holds many may exceed it)."""
    batch_size: int = 32 * 1024 * 1024
    """Bytes after which a batch is full, however few its events."""
    linger: float = 0.1
    """Seconds that a batch waits for more while fewer arrive than it may hold."""
    offset_reset: str = "earliest"
    """Where to go where Kafka no longer has what follows: ``earliest`` or ``latest`` of what it has."""
    start_timeout: float = 30.0
    """Seconds that a start waits for the brokers."""
    kafka: Mapping[str, Any] = {}
    """Settings of librdkafka, such as ``security.protocol``."""

    def check(self) -> None:
        """Raise SettingsError for a setting that is missing, ours to make, or that librdkafka refuses."""
        if not self.brokers:
            raise SettingsError("no brokers: give --brokers host:9092 or 'consume.brokers'")
        if not self.topics:
            raise SettingsError("no topic: give --topic NAME or 'consume.topics'")
        for key in self.kafka:
            if key in _ELSEWHERE:
                raise SettingsError(f"'consume.kafka': {key} is set by 'consume.{_ELSEWHERE[key]}'")
            if key in _OURS:
                raise SettingsError(f"'consume.kafka': {key} cannot be set: lineagelog keeps the offsets itself")
        self.open_consumer(0, lambda _: None).close()

    def open_consumer(self, number: int, on_error: Callable[[ClientError], None]) -> Consumer:
        """The client of worker ``number``, which begins to connect by itself. Raises SettingsError."""
        settings = {**_DEFAULTS, **self.kafka, **_OURS, **self._common(on_error), "group.id": self.group}
        if self.workers > 1 and "group.instance.id" in settings:
            settings["group.instance.id"] = f"{settings['group.instance.id']}-{number}"
        consumer: Consumer = _opened(Consumer, settings)
        return consumer

    def open_admin(self, on_error: Callable[[ClientError], None]) -> AdminClient:
        """A client that asks about topics and offsets. Raises SettingsError."""
        settings = {**_DEFAULTS, **self.kafka, **self._common(on_error)}
        admin: AdminClient = _opened(
            AdminClient, {key: value for key, value in settings.items() if key not in _CONSUMER_ONLY}
        )
        return admin

    def _common(self, on_error: Callable[[ClientError], None]) -> dict[str, Any]:
        logger = _DEBUG if "debug" in self.kafka else _SILENT
        return {"bootstrap.servers": self.brokers, "error_cb": on_error, "logger": logger}


def _opened(kind: Any, settings: dict[str, Any]) -> Any:
    try:
        return kind(settings)
    except KafkaException as error:
        raise SettingsError(f"'consume.kafka': {text_of(error)}") from error
    except (TypeError, ValueError) as error:
        raise SettingsError(f"'consume.kafka': {mask_text(' '.join(str(error).split()))}") from error


def text_of(error: KafkaException | ClientError) -> str:
    """An error of librdkafka in one line, without passwords."""
    found = error.args[0] if isinstance(error, KafkaException) else error
    text = found.str() if isinstance(found, ClientError) else str(found)
    return mask_text(" ".join(text.split())).rstrip(".")
