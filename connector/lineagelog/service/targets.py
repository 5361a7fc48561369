"""Targets of forwarding of every kind: here Kafka, whose sender lives beside its consumer, is wired to the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lineagelog.errors import SettingsError
from lineagelog.forward import ForwardTarget, Sender, TargetKind, open_sender, read_target, require
from lineagelog.store.ledgers.forwarding import Known


def served_targets(sections: Mapping[str, Mapping[str, Any]]) -> list[ForwardTarget]:
    """The targets with ``follow`` or ``interval``. Raises SettingsError for what is wrong or not installed."""
    targets = [target for name in sorted(sections) if (target := read_target(name, sections[name])).is_served]
    for target in targets:
        require_any(target)
    return targets


def require_any(target: ForwardTarget) -> None:
    """Load what a target of any kind needs. Raises SettingsError that names the missing extra."""
    if target.kind is TargetKind.KAFKA:
        _kafka_opener()
    else:
        require(target)


def open_any(target: ForwardTarget, known: Known) -> Sender:
    """The sender of any kind of target: here Kafka is wired to forwarding."""
    if target.kind is not TargetKind.KAFKA:
        return open_sender(target, known)
    return _kafka_opener()(target)


def _kafka_opener() -> Callable[[ForwardTarget], Sender]:
    try:
        from lineagelog.kafka.producer import open_kafka
    except ModuleNotFoundError as error:
        raise SettingsError("a kafka:// target needs the extra: pip install 'lineagelog[kafka]'") from error
    return open_kafka
