"""What recorded runs of analyses found: each finding with all that became of it, and what people said of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import orjson
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection, and_, any_, case, func, literal, or_, select, text, update
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.types import Uuid

from lineagelog.analysis import Finding, Subject
from lineagelog.event.canonical import name_key
from lineagelog.postgres.database import Database
from lineagelog.postgres.engine import translated_errors
from lineagelog.store.definition import tables
from lineagelog.store.definition.partitions import advisory_key
from lineagelog.store.definition.schema import LogStoreSchema
from lineagelog.store.definition.version import keep_to_version

from .episodes import Episode, FindingStatus, Look, News, found, leaves_behind, may_close, missed
from .finding_rows import subject_of

_AT_ONCE: Final = 500
_OF_PEOPLE: Final = ("acknowledged_at", "acknowledged_by", "acknowledged_until", "acknowledged_why")
_LOOKED_UP: Final = frozenset(("job", "dataset", "column", "test"))
"""Kinds of subjects whose activity is looked up; others, such as producers, count as active."""


class AskedQuestion(Struct, frozen=True):
    """An analysis and the parameters that it is asked with."""

    analysis: str
    parameters: Mapping[str, str]

    @property
    def key(self) -> UUID:
        """The same for the same question."""
        given = orjson.dumps(dict(self.parameters), option=orjson.OPT_SORT_KEYS).decode()
        return UUID(bytes=name_key(self.analysis, given))


class Recorded(Struct, frozen=True):
    """What a recorded run changed."""

    opened: int = 0
    reopened: int = 0
    closed: int = 0
    seen: int = 0
    """Findings of the run, old and new."""


class Recording(Struct, frozen=True, kw_only=True):
    """The last recorded run of a question."""

    analysis: str
    parameters: Mapping[str, str]
    window_start: datetime
    window_end: datetime
    recorded_at: datetime
    seconds: float
    findings: int
    insufficient: int


class RunTold(Struct, frozen=True, kw_only=True):
    """What a run told, to be recorded."""

    start: datetime
    end: datetime
    findings: Sequence[Finding]
    insufficient: int
    seconds: float
    is_whole: bool = True
    """Whether all of the window was read, and not only what arrived since the last time."""


class Findings:
    """The findings of one store. All calls raise StoreUnavailable and StoreNotCreated."""

    def __init__(self, database: Database) -> None:
        self._engine = database.engine
        self._schema: LogStoreSchema = keep_to_version(database)
        self._table = self._schema.t(tables.FINDING_TABLE)
        self._recordings = self._schema.t(tables.RECORDING_TABLE)

    # --- recording --------------------------------------------------------------------------------------------------

    def record(self, question: AskedQuestion, told: RunTold, *, tell: bool = False) -> Recorded:
        """Keep what a run told, and close what it covers and did not find. One recorder of an analysis at a time.

        With ``tell`` what is opened, reopened or closed is to be told to the webhook, unless it is muted.
        """
        lock = select(func.pg_advisory_xact_lock(advisory_key(self._schema, f"findings:{question.analysis}")))
        with translated_errors(), self._engine.begin() as connection:
            connection.execute(lock)
            now = connection.execute(select(func.clock_timestamp())).scalar_one()
            end = min(told.end, now)
            look = Look(question=question.key, start=told.start, end=end, at=now, is_whole=told.is_whole)
            known = self._known(connection, question.analysis, [each.finding_id for each in told.findings])
            changed = self._judged(connection, known, told.findings, look)
            for start in range(0, len(changed), _AT_ONCE):
                self._write(connection, changed[start : start + _AT_ONCE], tell=tell)
            self._remember(connection, question, told, look)
        news = [each.news for each in changed]
        opened, reopened, closed = (news.count(each) for each in (News.OPENED, News.REOPENED, News.CLOSED))
        return Recorded(opened, reopened, closed, len({each.finding_id for each in told.findings}))

    def _known(self, connection: Connection, analysis: str, ids: list[UUID]) -> dict[UUID, Episode]:
        """What is kept of these, and all that are open, locked against those who speak of them."""
        table = self._table.c
        these = table.finding_id == any_(literal(ids, ARRAY(Uuid)))
        wanted = and_(table.analysis == analysis, or_(table.status == FindingStatus.OPEN, these))
        query = select(self._table).where(wanted).order_by(table.finding_id).with_for_update()
        return {row.finding_id: _episode(row) for row in connection.execute(query)}

    def _judged(
        self, connection: Connection, known: dict[UUID, Episode], findings: Iterable[Finding], look: Look
    ) -> list[Episode]:
        """All that is to be written, in the order of their ids."""
        seen: dict[UUID, Episode] = {}
        for finding in findings:
            before = seen.get(finding.finding_id)
            after = found(before or known.get(finding.finding_id), finding, look)
            if before is not None and after.news is None:  # told twice in one run: what the first brought is still news
                after = replace(after, news=before.news)
            seen[finding.finding_id] = after
        gone = [each for key, each in known.items() if key not in seen and may_close(each, look)]
        doubtful = [each for each in gone if leaves_behind(each, look)]
        active = self._active(connection, [each.subject for each in doubtful], look)
        ends = [missed(each, look, is_active=each.subject in active) for each in gone]
        closed = [each for each in ends if each.news is not None]
        return sorted([*seen.values(), *closed], key=lambda each: each.finding_id)

    def _active(self, connection: Connection, subjects: Sequence[Subject], look: Look) -> set[Subject]:
        """Which of the subjects had an execution that began in the window, or was read or written in one."""
        active = {each for each in subjects if each.kind not in _LOOKED_UP}
        keys = {each: UUID(bytes=name_key(each.namespace or "", each.name)) for each in subjects if each not in active}
        if not keys:
            return active
        names = ("execution", "execution_dataset", "identity")
        functions = {name: self._schema.table(f"ol_{name}").replace(":", "\\:") for name in names}
        given = {"start": look.start, "end": look.end, "keys": list(keys.values())}
        at_work = {row[0] for row in connection.execute(text(_ACTIVE.format(**functions)), given)}
        return active | {each for each, key in keys.items() if key in at_work}

    def _write(self, connection: Connection, episodes: Sequence[Episode], *, tell: bool) -> None:
        table = self._table.c
        statement = insert(self._table).values([_row(each, tell=tell) for each in episodes])
        new = statement.excluded
        names = [name for name in _row(episodes[0], tell=tell) if name not in ("finding_id", "opened_at")]
        values: dict[str, Any] = {name: new[name] for name in names}
        is_muted = and_(table.muted_at.is_not(None), or_(table.muted_until.is_(None), table.muted_until > func.now()))
        is_news = and_(new.news.is_not(None), ~is_muted)
        for name in ("news", "news_at", "news_next", "news_attempts"):
            values[name] = func.coalesce(case((is_news, new[name])), table[name])
        back = new.reopened > table.reopened  # what was said of it was said of another time
        values |= {name: case((~back, table[name])) for name in _OF_PEOPLE}
        connection.execute(statement.on_conflict_do_update(index_elements=[table.finding_id], set_=values))

    def _remember(self, connection: Connection, question: AskedQuestion, told: RunTold, look: Look) -> None:
        values = {
            "analysis": question.analysis,
            "parameters": dict(question.parameters),
            "window_start": told.start,
            "window_end": told.end,
            "recorded_at": look.at,
            "seconds": told.seconds,
            "findings": len(told.findings),
            "insufficient": told.insufficient,
        }
        statement = insert(self._recordings).values(question=question.key, **values)
        connection.execute(statement.on_conflict_do_update(index_elements=["question"], set_=values))

    def last(self, question: AskedQuestion) -> Recording | None:
        """The last recorded run of a question."""
        wanted = self._recordings.c.question == question.key
        with translated_errors(), self._engine.connect() as connection:
            row = connection.execute(self._recorded().where(wanted)).first()
        return None if row is None else Recording(**row._mapping)

    def recordings(self) -> list[Recording]:
        """The last recorded run of each question."""
        order = self._recordings.c.analysis, self._recordings.c.question
        with translated_errors(), self._engine.connect() as connection:
            return [Recording(**row._mapping) for row in connection.execute(self._recorded().order_by(*order))]

    def _recorded(self) -> Any:
        return select(*(self._recordings.c[name] for name in Recording.__struct_fields__))

    # --- what people say --------------------------------------------------------------------------------------------

    def acknowledge(self, finding_id: UUID, *, by: str, until: datetime | None = None, why: str | None = None) -> bool:
        """Somebody knows of it; it stays open. False where there is no such finding."""
        return self._say(finding_id, _words("acknowledged", by, until, why))

    def mute(self, finding_id: UUID, *, by: str, until: datetime | None = None, why: str | None = None) -> bool:
        """Nobody is to hear of it: while it is open it is SUPPRESSED, and what becomes of it is not told."""
        quiet = {"news": None, "news_at": None, "news_next": None}
        return self._say(finding_id, _words("muted", by, until, why) | quiet)

    def unmute(self, finding_id: UUID) -> bool:
        """Take a mute back."""
        return self._say(finding_id, dict.fromkeys(("muted_at", "muted_by", "muted_until", "muted_why")))

    def _say(self, finding_id: UUID, values: Mapping[str, Any]) -> bool:
        said = update(self._table).where(self._table.c.finding_id == finding_id).values(values)
        with translated_errors(), self._engine.begin() as connection:
            return connection.execute(said).rowcount > 0


_ACTIVE: Final = """
    SELECT job_key FROM {execution}(:start, :end) WHERE job_key = ANY(:keys)
    UNION
    SELECT k.key FROM unnest(CAST(:keys AS uuid[])) AS k (key)
    LEFT JOIN {identity}() i ON i.dataset_key = k.key AND i.ended = 'infinity'
    JOIN {execution_dataset}(:start, :end) d ON d.identity_key = coalesce(i.identity_key, k.key)
"""
"""Keys of jobs that had an execution in the window, and of datasets that one read or wrote, under whichever name."""


def _words(what: str, by: str, until: datetime | None, why: str | None) -> dict[str, Any]:
    return {f"{what}_at": func.now(), f"{what}_by": by, f"{what}_until": until, f"{what}_why": why}


def _row(episode: Episode, *, tell: bool) -> dict[str, Any]:
    subject, is_news = episode.subject, tell and episode.news is not None
    names = [name for name in Episode.__struct_fields__ if name not in ("subject", "content", "news")]
    return {
        **{name: getattr(episode, name) for name in names},
        "subject_kind": subject.kind,
        "subject_namespace": subject.namespace or "",
        "subject_name": subject.name,
        "content": orjson.loads(orjson.dumps(episode.content, default=str, option=orjson.OPT_UTC_Z)),
        "news": episode.news if is_news else None,
        "news_at": func.clock_timestamp() if is_news else None,
        "news_next": func.now() if is_news else None,
        "news_attempts": 0,
    }


def _episode(row: Any) -> Episode:
    names = [name for name in Episode.__struct_fields__ if name not in ("subject", "status", "news")]
    return Episode(
        subject=subject_of(row.content),
        status=FindingStatus(row.status),
        **{name: getattr(row, name) for name in names},
    )
