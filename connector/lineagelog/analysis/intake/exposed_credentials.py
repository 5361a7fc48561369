"""Exposed credentials: the events that carry secrets, by job and place. The secrets themselves are never told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final

import orjson
from msgspec import Struct, field

from lineagelog.analysis import Analysis, Finding, Given, Severity, Subject
from lineagelog.shown import mask_text, mask_tree

_EVIDENCE: Final = 10


class EventText(Struct, frozen=True, kw_only=True):
    """A row: an event as it was received."""

    event_kind: str
    """run, job or dataset."""
    job_namespace: str
    job_name: str
    run_id: str
    producer: str
    at: datetime
    event: str


class Exposure(Struct):
    """What was seen of a secret at one place of the events of one job, so far."""

    producer: str
    first: datetime
    last: datetime
    events: int = 0
    run_ids: dict[str, None] = field(default_factory=dict)

    def add(self, row: EventText) -> None:
        """Count one more event with it."""
        self.events += 1
        self.first, self.last = min(self.first, row.at), max(self.last, row.at)
        if row.run_id and len(self.run_ids) < _EVIDENCE:
            self.run_ids[row.run_id] = None


def explain(rows: Iterable[EventText], _: Given) -> Iterator[Finding]:
    """One finding per job (or dataset, of an event without job) and place."""
    seen: dict[tuple[Subject, str], Exposure] = {}
    for row in rows:
        tree = orjson.loads(row.event)
        for place in secret_places(tree):
            key = (_subject(row, tree), place)
            if key not in seen:
                seen[key] = Exposure(mask_text(row.producer), row.at, row.at)
            seen[key].add(row)
    for (subject, place), exposure in sorted(seen.items(), key=_order):
        yield _finding(subject, place, exposure)


def _order(item: tuple[tuple[Subject, str], Exposure]) -> tuple[datetime, str, str]:
    (subject, place), exposure = item
    return exposure.first, str(subject), place


def secret_places(tree: Any) -> list[str]:
    """Where in an event secrets stand, such as ``outputs[].facets.dataSource.uri``; the rules are those of `shown/`."""
    places: dict[str, None] = {}
    _differences(tree, mask_tree(tree), "", places)
    return [mask_text(place) for place in places]


def _differences(value: Any, masked: Any, place: str, places: dict[str, None]) -> None:
    if isinstance(value, dict):
        for name, member in value.items():
            _differences(member, masked[name], f"{place}.{name}" if place else name, places)
    elif isinstance(value, list):
        for member, other in zip(value, masked, strict=True):
            _differences(member, other, f"{place}[]", places)
    elif value != masked:
        places[place] = None


def _subject(row: EventText, tree: Any) -> Subject:
    """The event's job, or its dataset; a name may hold a secret, too."""
    if row.event_kind != "dataset":
        return Subject("job", mask_text(row.job_namespace) or None, mask_text(row.job_name))
    dataset = tree["dataset"]
    namespace = mask_text(str(dataset.get("namespace") or ""))
    return Subject("dataset", namespace or None, mask_text(str(dataset.get("name"))))


def _finding(subject: Subject, place: str, exposure: Exposure) -> Finding:
    is_one = exposure.events == 1
    events, carry = ("1 event", "carries") if is_one else (f"{exposure.events} events", "carry")
    return Finding(
        subject=subject,
        change="exposed",
        detail=place,
        severity=Severity.CRITICAL,
        observed=f"a secret in {place}",
        expected="none",
        n=exposure.events,
        first_seen=exposure.first,
        last_seen=exposure.last,
        run_ids=tuple(exposure.run_ids),
        explanation=f"{events} of {subject} {carry} a secret in {place}: whoever reads the log reads it, too.",
        values={"place": place, "producer": exposure.producer},
    )


ANALYSIS: Final = Analysis(
    name="exposed_credentials",
    question="Which events carry secrets?",
    about="Reads the events themselves, by the rules that mask what leaves for people: passwords in URLs, tokens, keys "
    "and names that announce a secret. Told is where it stands, never what it is. Always critical: replace the secret, "
    "and let the producer send none.",
    method="rules for names, URLs and the shapes of tokens",
    row=EventText,
    explain=explain,
    reads_events=True,
    where_nothing_is_found=" (looked at are the events whose time lies in the window)",
    example="--since -1d",
)
