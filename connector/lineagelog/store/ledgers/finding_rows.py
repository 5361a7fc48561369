"""Findings as they are read: each with what its analysis told last, its status now, and what people said of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from msgspec import Struct
from sqlalchemy import ARRAY, ColumnElement, Row, Select, Uuid, and_, any_, case, func, literal, or_, select, tuple_

from lineagelog.analysis import Severity, Subject
from lineagelog.postgres.database import Database
from lineagelog.postgres.engine import translated_errors
from lineagelog.store.definition import tables
from lineagelog.store.definition.version import keep_to_version

from .episodes import FindingStatus

_FIRST: Final = (
    *("finding_id", "analysis", "subject", "severity", "status", "change", "detail", "observed", "expected"),
    *("lower", "upper", "score", "method", "n", "first_seen", "last_seen", "run_ids", "explanation"),
)
"""The members of a finding's document that are shown first, as its analysis has them."""

type FindingKey = tuple[datetime, UUID]
"""What lists are ordered by: last_seen and finding_id."""


class FindingRow(Struct, frozen=True, kw_only=True):
    """A finding as it is kept."""

    finding_id: UUID
    analysis: str
    subject: Subject
    severity: Severity
    status: FindingStatus
    first_seen: datetime
    """Of what happened, as last_seen."""
    last_seen: datetime
    opened_at: datetime
    """When it was recorded first."""
    recorded_at: datetime
    """When a recorded run found it last."""
    closed_at: datetime | None
    """When one found it no more."""
    reopened: int
    """How often it came back."""
    reopened_at: datetime | None
    acknowledged_at: datetime | None
    acknowledged_by: str | None
    acknowledged_until: datetime | None
    """None where it was acknowledged for good."""
    acknowledged_why: str | None
    muted_at: datetime | None
    muted_by: str | None
    muted_until: datetime | None
    muted_why: str | None
    parameters: Mapping[str, str]
    """That its analysis found it with."""
    content: Mapping[str, Any]
    """The document of the finding, as its analysis told it last."""

    @property
    def document(self) -> dict[str, Any]:
        """For programs: the finding as `analyse --json` gives it, with what became of it."""
        kept = {name: getattr(self, name) for name in self.__struct_fields__ if name not in ("subject", "content")}
        told = {name: self.content[name] for name in _FIRST if name in self.content}  # JSONB has an order of its own
        return {**told, **self.content, **kept, "finding_id": str(self.finding_id)}


class FindingFilter(Struct, frozen=True, kw_only=True):
    """Which findings are wanted; None = all."""

    statuses: tuple[FindingStatus, ...] | None = None
    severity: Severity | None = None
    """At least."""
    analysis: str | None = None
    subject: str | None = None
    """Its name."""
    namespace: str | None = None
    """Of the subject; '' = none."""
    since: datetime | None = None
    """Last seen then or later."""
    until: datetime | None = None
    """Last seen before."""
    within: frozenset[str] | None = None
    """Namespaces of subjects that the asker may see."""


class FindingRows:
    """The findings of one store, to read. All calls raise StoreUnavailable and StoreNotCreated."""

    def __init__(self, database: Database) -> None:
        self._engine = database.engine
        schema = keep_to_version(database)
        self._table, self._recordings = schema.t(tables.FINDING_TABLE), schema.t(tables.RECORDING_TABLE)

    def page(
        self, wanted: FindingFilter, after: FindingKey | None, limit: int, *, reverse: bool = False
    ) -> Sequence[tuple[FindingKey, FindingRow]]:
        """At most so many rows after a key, seen longest ago first; with ``reverse`` seen last first."""
        table = self._table.c
        key = table.last_seen, table.finding_id
        conditions = list(self._conditions(wanted))
        if after is not None:
            conditions.append(tuple_(*key) < tuple_(*after) if reverse else tuple_(*key) > tuple_(*after))
        order = [column.desc() if reverse else column for column in key]
        rows = self._rows(self._query().where(*conditions).order_by(*order).limit(limit))
        return [((row.last_seen, row.finding_id), row) for row in rows]

    def get(self, finding_id: UUID, within: Iterable[str] | None = None) -> FindingRow | None:
        """One finding, unless it is hidden from the asker."""
        own = FindingFilter(within=None if within is None else frozenset(within))
        query = self._query().where(self._table.c.finding_id == finding_id, *self._conditions(own))
        return next(iter(self._rows(query)), None)

    def by_severity(self) -> dict[tuple[str, str], int]:
        """How many findings there are by analysis and severity, of those that are OPEN."""
        table, count = self._table.c, func.count()
        is_open = self._status() == FindingStatus.OPEN
        query = select(table.analysis, table.severity, count).where(table.status == FindingStatus.OPEN, is_open)
        with translated_errors(), self._engine.connect() as connection:
            rows = connection.execute(query.group_by(table.analysis, table.severity))
            return {(analysis, severity): number for analysis, severity, number in rows}

    def of_interest(self, closed_since: datetime) -> list[FindingRow]:
        """All that are OPEN, and those that were closed since then."""
        table = self._table.c
        is_open = and_(table.status == FindingStatus.OPEN, self._status() == FindingStatus.OPEN)
        lately = and_(table.status == FindingStatus.CLOSED, table.closed_at >= closed_since)
        query = self._query().where(or_(is_open, lately))
        return self._rows(query.order_by(table.last_seen, table.finding_id))

    def known(self, ids: Iterable[str]) -> set[str]:
        """Which of these findings are kept."""
        wanted = [UUID(each) for each in ids]
        query = select(self._table.c.finding_id).where(self._table.c.finding_id == any_(literal(wanted, ARRAY(Uuid))))
        with translated_errors(), self._engine.connect() as connection:
            return {str(row.finding_id) for row in connection.execute(query)}

    # --- how it is read ---------------------------------------------------------------------------------------------

    def _status(self) -> ColumnElement[str]:
        table = self._table.c
        is_muted = and_(table.muted_at.is_not(None), or_(table.muted_until.is_(None), table.muted_until > func.now()))
        is_suppressed = and_(table.status == FindingStatus.OPEN, is_muted)
        return case((is_suppressed, FindingStatus.SUPPRESSED.value), else_=table.status)

    def _query(self) -> Select[Any]:
        table, recording = self._table.c, self._recordings.c
        computed = {"status": self._status(), "parameters": recording.parameters}
        names = [name for name in FindingRow.__struct_fields__ if name not in ("subject", *computed)]
        columns = [*(table[name] for name in names), *(value.label(name) for name, value in computed.items())]
        joined = self._table.outerjoin(self._recordings, recording.question == table.question)
        return select(*columns).select_from(joined)

    def _conditions(self, wanted: FindingFilter) -> Iterable[ColumnElement[bool]]:
        table = self._table.c
        if wanted.statuses is not None:
            yield self._status().in_(wanted.statuses)
        if wanted.severity is not None:
            yield table.severity.in_([each for each in Severity if each.rank >= wanted.severity.rank])
        for column, value in (
            (table.analysis, wanted.analysis),
            (table.subject_name, wanted.subject),
            (table.subject_namespace, wanted.namespace),
        ):
            if value is not None:
                yield column == value
        if wanted.since is not None:
            yield table.last_seen >= wanted.since
        if wanted.until is not None:
            yield table.last_seen < wanted.until
        if wanted.within is not None:
            yield table.subject_namespace.in_(wanted.within)

    def _rows(self, query: Select[Any]) -> list[FindingRow]:
        with translated_errors(), self._engine.connect() as connection:
            return [_row(row) for row in connection.execute(query)]


_TIMES: Final = frozenset(name for name in FindingRow.__struct_fields__ if name.endswith(("_at", "_seen", "_until")))


def _row(row: Row[Any]) -> FindingRow:
    values = dict(row._mapping)
    for name in _TIMES:
        values[name] = values[name] and values[name].astimezone(UTC)
    values["parameters"] = row.parameters or {}
    values["severity"], values["status"] = Severity(row.severity), FindingStatus(row.status)
    return FindingRow(subject=subject_of(row.content), **values)


def subject_of(content: Mapping[str, Any]) -> Subject:
    """The subject of a finding's document."""
    return Subject(*(content["subject"].get(name) for name in Subject.__struct_fields__))
