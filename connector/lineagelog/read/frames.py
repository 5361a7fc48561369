"""What was read as tables: answers of analyses as flat rows (CSV, Parquet), these, listings and queries as Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from io import BytesIO
from itertools import chain
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, get_args, get_type_hints
from uuid import UUID

import orjson
from msgspec import Struct

from lineagelog.errors import InputError, SettingsError
from lineagelog.postgres.database import Database

from .analyses import Answer
from .rows import Window
from .script import run_script, variables

if TYPE_CHECKING:
    from pyarrow import Table

_SUBJECT: Final = ("kind", "namespace", "name", "column", "test")
_FINDING: Final = (
    *("finding_id", "severity", "status", "change", "detail", "observed", "expected", "lower", "upper", "score"),
    *("method", "n", "first_seen", "last_seen", "run_ids", "explanation"),
)
_TOLD: Final = ("analysis", *(f"subject_{part}" for part in _SUBJECT))


def columns_of(answers: Iterable[Answer]) -> tuple[str, ...]:
    """The names of all columns: of findings, and each property of those that give a table."""
    answers = list(answers)
    found = any(answer.findings for answer in answers) or not any(answer.told.results for answer in answers)
    seen = chain.from_iterable(row for answer in answers for row in _results(answer))
    return tuple(dict.fromkeys((*_TOLD, *((*_FINDING, "values") if found else ()), *seen)))


def rows_of(answers: Iterable[Answer]) -> Iterator[dict[str, Any]]:
    """The rows; what has members of its own is JSON."""
    for answer in answers:
        yield from _results(answer)
        yield from _findings(answer)


def answers_table(answers: Iterable[Answer]) -> Table:
    """The same rows as an Arrow table. Raises SettingsError where pyarrow is missing."""
    answers = list(answers)
    pa = _pyarrow()
    kinds = {
        **dict.fromkeys(("lower", "upper", "score"), pa.float64()),
        **dict.fromkeys(("first_seen", "last_seen"), pa.timestamp("us", "UTC")),
        "n": pa.int64(),
        "run_ids": pa.list_(pa.string()),
    }
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in columns_of(answers)])
    return pa.Table.from_pylist(list(rows_of(answers)), schema=schema)


def rows_table[Row: Struct](kind: type[Row], rows: Iterable[Row]) -> Table:
    """Rows of a listing, such as `rows_table(Run, reader.runs(window))`, as an Arrow table.

    Times are in UTC, keys are texts, what has members of its own is JSON. Raises what reading raises, and SettingsError
    where pyarrow is missing.
    """
    pa = _pyarrow()
    known = {
        bool: pa.bool_(),
        int: pa.int64(),
        float: pa.float64(),
        datetime: pa.timestamp("us", "UTC"),
        timedelta: pa.duration("us"),
    }
    hints = get_type_hints(kind)
    kinds = {name: _only(hints[name]) for name in kind.__struct_fields__}
    columns: dict[str, list[Any]] = {name: [] for name in kinds}
    for row in rows:
        for name, column in columns.items():
            value = getattr(row, name)
            is_plain = value is None or isinstance(value, str) or kinds[name] in known
            column.append(value if is_plain else str(value) if isinstance(value, UUID) else _json(value))
    schema = pa.schema([(name, known.get(each, pa.string())) for name, each in kinds.items()])
    return pa.Table.from_pydict(columns, schema=schema)


def query_table(database: Database, query: str, window: Window, values: Mapping[str, str] | None = None) -> Table:
    """The rows of one statement over the views as an Arrow table, types as PostgreSQL's.

    The statement may use psql's variables :'from' and :'to', the window's bounds, and those of ``values``; it reads
    only, in the store's schema, in UTC. Raises InputError for a variable without a value, StoreUnavailable,
    StoreNotCreated, and SettingsError where pyarrow is missing.
    """
    pa = _pyarrow()
    given = {"from": window.start.isoformat(), "to": window.end.isoformat(), **(values or {})}
    if missing := sorted(variables(query) - given.keys()):
        raise InputError(f"the query has a variable {missing[0]!r} without a value")
    with run_script(database, query.strip().rstrip(";"), given) as rows:
        return pa.Table.from_pylist(
            [{name: str(value) if isinstance(value, UUID) else value for name, value in row.items()} for row in rows]
        )


def parquet_of(answers: list[Answer]) -> bytes:
    """The rows of answers as a Parquet file. Raises SettingsError where pyarrow is missing."""
    table = answers_table(answers)
    import pyarrow.parquet as pq

    file = BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


def _pyarrow() -> Any:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise SettingsError("Arrow and Parquet need pyarrow: pip install 'lineagelog[arrow]'") from error
    return pa


def _only(hint: Any) -> Any:
    """The one type of an optional member, else object."""
    kinds = [each for each in (get_args(hint) or (hint,)) if each is not NoneType]
    return kinds[0] if len(kinds) == 1 else object


def _results(answer: Answer) -> Iterator[dict[str, Any]]:
    for result in answer.told.results:
        more = {name: _json(value) for name in ("annotations", "report", "ours") if (value := getattr(result, name))}
        yield _subject(answer.analysis, result.subject) | dict(result.properties) | more


def _findings(answer: Answer) -> Iterator[dict[str, Any]]:
    for finding in answer.findings:
        document = finding.document
        told = {name: document[name] for name in _FINDING}
        yield _subject(answer.analysis, finding.subject) | told | {"values": _json(finding.values)}


def _subject(analysis: str, subject: Any) -> dict[str, Any]:
    return {"analysis": analysis, **{f"subject_{part}": getattr(subject, part) for part in _SUBJECT}}


def _json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_UTC_Z).decode()
