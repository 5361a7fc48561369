"""Sends events to a Kafka topic for `forward`: acknowledged by all in-sync replicas, once per partition."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from confluent_kafka import KafkaError, KafkaException, Producer

from lineagelog.errors import SettingsError
from lineagelog.forward.sending import DELIVERED, DETAIL_LENGTH, Item, TargetAnswer, TargetVerdict
from lineagelog.forward.target import ForwardTarget
from lineagelog.shown import mask_text
from lineagelog.store.ledgers.forwarding import Learnt

_FLUSH_SECONDS: Final = 1.0
_TOO_LARGE: Final = frozenset((KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_MSG_SIZE, KafkaError.INVALID_MSG))
_HELD: Final = frozenset(
    (
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError._AUTHENTICATION,
        KafkaError.TOPIC_EXCEPTION,
    )
)


class _Job(msgspec.Struct):
    namespace: str = ""
    name: str = ""


class _Reference(msgspec.Struct):
    job: _Job | None = None


class _Parent(msgspec.Struct):
    job: _Job | None = None
    root: _Reference | None = None


class _Facets(msgspec.Struct):
    parent: _Parent | None = None


class _Run(msgspec.Struct):
    facets: _Facets | None = None


class _Dataset(msgspec.Struct):
    namespace: str = ""
    name: str = ""


class _Event(msgspec.Struct):
    run: _Run | None = None
    job: _Job | None = None
    dataset: _Dataset | None = None


_EVENT: Final = msgspec.json.Decoder(_Event)


class KafkaSender:
    """Produces to one topic; order within a partition is kept. Raises SettingsError for settings librdkafka refuses."""

    lanes = 1
    file_size: int | None = None
    max_bytes: int | None = None
    learnt: Learnt = {}  # noqa: RUF012  # nothing is ever learnt of a topic

    def __init__(self, target: ForwardTarget) -> None:
        servers, self._topic = target.kafka_place
        settings: dict[str, Any] = {
            "client.id": "lineagelog",
            "message.timeout.ms": int(target.timeout * 1000),
            "linger.ms": 5,
            "compression.type": "lz4" if not target.gzip else "gzip",
            **target.kafka,
            "bootstrap.servers": servers,
            "acks": "all",
            "enable.idempotence": True,
            "error_cb": self._note,
        }
        self._last_error = ""
        try:
            self._producer = Producer(settings, logger=logging.getLogger(__name__))
        except KafkaException as error:
            raise SettingsError(f"'forward.{target.name}.kafka': {mask_text(str(error.args[0].str()))}") from error

    def _note(self, error: KafkaError) -> None:
        self._last_error = mask_text(error.str())

    def send(self, items: Sequence[Item]) -> list[TargetAnswer]:
        """Produce all and wait for what the brokers say to each."""
        answers: list[TargetAnswer | None] = [None] * len(items)
        for index, item in enumerate(items):

            def delivered(error: KafkaError | None, _: object, index: int = index) -> None:
                answers[index] = DELIVERED if error is None else self._answer(error)

            while answers[index] is None:
                try:
                    self._producer.produce(self._topic, item.body, key_of(item.body), on_delivery=delivered)
                    break
                except BufferError:  # the queue of librdkafka is full: wait for the brokers
                    self._producer.poll(_FLUSH_SECONDS)
                except KafkaException as error:
                    answers[index] = self._answer(error.args[0])
        while self._producer.flush(_FLUSH_SECONDS):
            pass  # each message ends within message.timeout.ms
        return [answer or TargetAnswer(TargetVerdict.AGAIN, detail="no answer") for answer in answers]

    def _answer(self, error: KafkaError) -> TargetAnswer:
        code = error.code()
        detail = mask_text(f"{error.name()}: {error.str()}")[:DETAIL_LENGTH]
        if code in _TOO_LARGE:
            return TargetAnswer(TargetVerdict.REFUSED, detail=detail, reason="too_large")
        if code in _HELD:
            return TargetAnswer(TargetVerdict.HELD, detail=detail)
        return TargetAnswer(
            TargetVerdict.AGAIN, detail=f"{detail} ({self._last_error})" if self._last_error else detail
        )

    def close(self) -> None:
        """Nothing is on its way any more: send() waits for all."""
        self._producer.flush(_FLUSH_SECONDS)


def key_of(body: bytes) -> bytes | None:
    """The message key: that of the OpenLineage clients, by which all events of one root job share a partition.

    ``run:NAMESPACE/NAME`` of the root job, else of the parent, else of the job itself; ``job:…`` and ``dataset:…`` for
    the other kinds (openlineage-python, transport/kafka.py).
    """
    try:
        event = _EVENT.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if event.run is not None:
        job = _root(event.run) or event.job
        return _key("run", job) if job is not None else None
    if event.job is not None:
        return _key("job", event.job)
    return _key("dataset", event.dataset) if event.dataset is not None else None


def _root(run: _Run) -> _Job | None:
    parent = run.facets.parent if run.facets is not None else None
    if parent is None:
        return None
    return parent.root.job if parent.root is not None and parent.root.job is not None else parent.job


def _key(kind: str, named: _Job | _Dataset) -> bytes:
    return f"{kind}:{named.namespace}/{named.name}".encode("utf-8", "replace")


def open_kafka(target: ForwardTarget) -> KafkaSender:
    """Opens a Kafka target, like `forward.open_sender`."""
    return KafkaSender(target)
