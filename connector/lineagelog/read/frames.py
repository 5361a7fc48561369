"""Answers of analyses as flat rows: one for each finding and each subject of a table, as CSV and Parquet have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, BinaryIO, Final

import orjson

from lineagelog.errors import SettingsError

from .analyses import Answer

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


def write_parquet(answers: list[Answer], out: BinaryIO) -> None:
    """The same rows as Parquet. Raises SettingsError where pyarrow is missing."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise SettingsError("--parquet needs pyarrow: pip install 'lineagelog[arrow]'") from error
    kinds = {
        **dict.fromkeys(("lower", "upper", "score"), pa.float64()),
        **dict.fromkeys(("first_seen", "last_seen"), pa.timestamp("us", "UTC")),
        "n": pa.int64(),
        "run_ids": pa.list_(pa.string()),
    }
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in columns_of(answers)])
    pq.write_table(pa.Table.from_pylist(list(rows_of(answers)), schema=schema), out)


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
