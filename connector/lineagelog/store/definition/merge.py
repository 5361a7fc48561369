"""The digest's merge as SQL: what ON CONFLICT sets, so that the digest is a join of its events.

``d`` is the stored row, ``x`` the new one (EXCLUDED). The rules are commutative, associative and idempotent: any
order, batching and duplication of the events gives the same rows. `append/digest.py` has the same rules in Python, and
the property tests hold the two together. Which columns there are says `event/facts.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Boolean, ColumnElement, Integer, Table, Uuid, case, cast, func, literal_column, or_, tuple_

from lineagelog.event import facts
from lineagelog.event.facts import Fact, Kind, Register

from .tables import Time

STATUS_RANK = {"UNKNOWN": 0, "OTHER": 1, "START": 2, "RUNNING": 3, "ABORT": 4, "COMPLETE": 5, "FAIL": 6}
"""Which status beats which at the same time."""

_RANKED: ColumnElement[Any] = literal_column(f"'{{{','.join(STATUS_RANK)}}}'::text[]")

_NEVER: ColumnElement[Any] = literal_column("'-infinity'::timestamptz", Time)

_LOWS: dict[Kind, ColumnElement[Any]] = {
    Kind.TEXT: literal_column("''"),
    Kind.COUNT: literal_column("-1"),
    Kind.TIME: _NEVER,
    Kind.HASH: literal_column("'00000000-0000-0000-0000-000000000000'::uuid", Uuid),
}
"""A value below every real one (`Kind.low`); JSON is compared by its hash."""

type Columns = Any
"""`table.c` or `insert.excluded`."""


def rank(status: ColumnElement[str]) -> ColumnElement[int]:
    """The rank of a status or event type (one of STATUS_RANK)."""
    return func.array_position(_RANKED, status, type_=Integer)


type Registers = tuple[Register, ...]
"""Those that a statement brings: what no row of a batch carries costs nothing."""


def run_merge(table: Table, x: Columns, registers: Registers) -> dict[str, ColumnElement[Any]]:
    """What an upsert of ol_run sets."""
    d = table.c
    x_ends = tuple_(func.coalesce(x.end_time, _NEVER), rank(x.status)) > tuple_(
        func.coalesce(d.end_time, _NEVER), rank(d.status)
    )
    merged: dict[str, ColumnElement[Any]] = {
        "status": case((x_ends, x.status), else_=d.status),
        "start_time": func.least(d.start_time, x.start_time),
        "end_time": func.greatest(d.end_time, x.end_time),
        "first_event_time": func.least(d.first_event_time, x.first_event_time),
        "last_event_time": func.greatest(d.last_event_time, x.last_event_time),
        "last_start_time": func.greatest(d.last_start_time, x.last_start_time),
        "last_fail_time": func.greatest(d.last_fail_time, x.last_fail_time),
    }
    return merged | _newest(d, x, registers)


def _newest(d: Columns, x: Columns, registers: Registers) -> dict[str, ColumnElement[Any]]:
    """Of each register the greater (time, values)."""
    newer = {register: _newer(d, x, register) for register in registers}
    return {
        name: case((newer[register], x[name]), else_=d[name]) for register in newer for name, _, _ in register.columns
    }


def _newer(d: Columns, x: Columns, register: Register) -> ColumnElement[bool]:
    """Whether x's (time, values) are greater; every member is coalesced, or a NULL would break the order."""

    def side(a: Columns) -> Any:
        return tuple_(func.coalesce(a[register.at], _NEVER), *(_or_low(a, fact) for fact in register.compared))

    newer: ColumnElement[bool] = side(x) > side(d)
    return newer


def _or_low(a: Columns, fact: Fact) -> ColumnElement[Any]:
    return func.coalesce(a[fact.name], _LOWS[fact.kind])


def run_dataset_merge(table: Table, x: Columns, registers: Registers) -> dict[str, ColumnElement[Any]]:
    """What an upsert of ol_run_dataset sets."""
    d = table.c
    x_counts, d_counts = _counts(x), _counts(d)
    x_leads = case(
        (x_counts != d_counts, x_counts),
        (d_counts, tuple_(x.event_time, rank(x.event_type)) > tuple_(d.event_time, rank(d.event_type))),
        else_=x.event_time < d.event_time,
    )
    event_time = case((x_leads, x.event_time), else_=d.event_time)
    merged: dict[str, ColumnElement[Any]] = {
        "event_time": event_time,
        "event_type": case((x_leads, x.event_type), else_=d.event_type),
    }
    for register in facts.DATASET:
        if register in registers:
            merged |= _register_merge(d, x, register, event_time)
        else:
            merged |= _register_kept(d, register, event_time)
    return merged


def report_told(d: Columns, x: Columns, names: Iterable[str]) -> ColumnElement[bool]:
    """Whether x, a report with the key of d, says the greater things beside what the key is made of."""

    def side(a: Columns) -> Any:
        members = (
            (cast(a[name].is_not(None), Boolean), func.coalesce(a[name], _TOLD_LOWS.get(name, literal_column("''"))))
            for name in names
        )
        return tuple_(*(part for member in members for part in member))

    greater: ColumnElement[bool] = side(x) > side(d)
    return greater


_TOLD_LOWS: dict[str, Any] = {"position": literal_column("-1"), "skipped": literal_column("false")}


def _counts(a: Columns) -> ColumnElement[bool]:
    """Whether the sighting counts: it carries a statistic, or its event is not a START."""
    return or_(a.event_type != literal_column("'START'"), a.row_count.is_not(None), a.size_bytes.is_not(None))


def _register_merge(
    d: Columns, x: Columns, register: Register, event_time: ColumnElement[Any]
) -> dict[str, ColumnElement[Any]]:
    """Value and compact time of one register.

    (v, NULL): set at the row's event_time. (v, t): set at t. (NULL, t): deleted at t. (NULL, NULL): never carried.
    """
    (fact,) = register.facts
    value, at = fact.name, register.at

    def effective(a: Columns) -> ColumnElement[Any]:
        return _effective(a, register)

    def side(a: Columns) -> Any:
        carried = cast(a[value].is_not(None), Boolean)
        return tuple_(func.coalesce(effective(a), _NEVER), carried, _or_low(a, fact))

    x_wins = side(x) > side(d)
    time = case((x_wins, effective(x)), else_=effective(d))
    won = case((x_wins, x[value]), else_=d[value])
    return {value: won, at: case((won.is_(None), time), else_=func.nullif(time, event_time))}


def _register_kept(d: Columns, register: Register, event_time: ColumnElement[Any]) -> dict[str, ColumnElement[Any]]:
    """The compact time of a register that no row carries: another time than the row's, once that moves."""
    carried = d[register.facts[0].name].is_not(None)
    return {register.at: case((carried, func.nullif(_effective(d, register), event_time)), else_=d[register.at])}


def _effective(a: Columns, register: Register) -> ColumnElement[Any]:
    """When it was set or deleted."""
    (fact,) = register.facts
    return case((a[fact.name].is_(None), a[register.at]), else_=func.coalesce(a[register.at], a.event_time))


def entity_merge(table: Table, x: Columns, registers: Registers) -> dict[str, ColumnElement[Any]]:
    """What an upsert of ol_job or ol_dataset sets."""
    d = table.c
    merged: dict[str, ColumnElement[Any]] = {
        "first_seen": func.least(d.first_seen, x.first_seen),
        "last_seen": func.greatest(d.last_seen, x.last_seen),
    }
    return merged | _newest(d, x, registers)


def said_merge(table: Table, x: Columns) -> dict[str, ColumnElement[Any]]:
    """What an upsert of ol_dataset_name sets."""
    d = table.c
    return {
        "first_said": func.least(d.first_said, x.first_said),
        "last_said": func.greatest(d.last_said, x.last_said),
    }
