"""Prints rows: a table for people, tab-separated when piped, CSV or NDJSON when asked for."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Final

import typer

from lineagelog.errors import SettingsError

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
JsonLines = Annotated[bool, typer.Option("--json", help="Print NDJSON: one object per line, with all columns.")]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV with a header line and all columns.")]

_MARKS: Final = {
    "COMPLETE": "green",
    "success": "green",
    "true": "green",
    "FAIL": "bold red",
    "fail": "bold red",
    "false": "bold red",
    "ABORT": "yellow",
    "RUNNING": "cyan",
}

_UNBROKEN: Final = frozenset(("run_id", "status", "duration", "success", "id", "state"))
"""Columns of a table that are never broken: what people copy, and what is short."""


class Form(StrEnum):
    """How rows are printed."""

    TABLE = "table"
    TABS = "tabs"
    CSV = "csv"
    JSON = "json"


def form_of(*, json: bool, csv: bool) -> Form:
    """The form that the options ask for."""
    if json and csv:
        raise SettingsError("--json and --csv exclude each other")
    if json or csv:
        return Form.JSON if json else Form.CSV
    return Form.TABLE if sys.stdout.isatty() else Form.TABS


def print_rows(form: Form, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> int:
    """Print rows as they come (a table: all at once); returns how many. Columns that a row lacks stay empty."""
    if form is Form.TABLE:
        return _print_table(columns, rows)
    if form is Form.JSON:
        return sum(_print_json(row) for row in rows)
    dialect = {"delimiter": "\t", "quoting": csv.QUOTE_NONE, "quotechar": None} if form is Form.TABS else {}
    writer = csv.writer(sys.stdout, lineterminator="\n", **dialect)  # type: ignore[arg-type]
    writer.writerow(columns)
    count = 0
    for row in rows:
        values = [text_of(row.get(column)) for column in columns]
        writer.writerow([" ".join(value.split()) for value in values] if form is Form.TABS else values)
        count += 1
    return count


def print_facts(facts: Mapping[str, Any], width: int = 18) -> None:
    """Print what is known of one thing: a name and a value on each line, without those that are not there."""
    for name, value in facts.items():
        if value is not None:
            print(f"{name:<{width}}{' '.join(text_of(value).split())}")


def print_json(value: Any) -> None:
    """Print one JSON document."""
    import orjson

    # a lone surrogate in a name is the only text that orjson refuses; such a name was repaired before it was stored
    print(orjson.dumps(value, default=_plain, option=orjson.OPT_INDENT_2 | orjson.OPT_UTC_Z).decode())


def _print_json(row: Mapping[str, Any]) -> int:
    import orjson

    print(orjson.dumps(row, default=_plain, option=orjson.OPT_UTC_Z).decode())
    return 1


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, int):
        return str(value)  # beyond 64 bits, which orjson cannot write
    raise TypeError(f"{type(value).__name__} has no JSON form")


def text_of(value: Any) -> str:
    """One value for people: times in UTC, nothing for what is missing."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds" if value.microsecond else "seconds").replace("+00:00", "Z")
    if isinstance(value, timedelta):
        return duration(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, (list, tuple)):
        return ", ".join(text_of(each) for each in value)
    return str(value)


def duration(span: timedelta) -> str:
    """A span of time as people say it: ``0.4 s``, ``3 min 20 s``, ``2 h 5 min``, ``4 d 2 h``."""
    seconds = span.total_seconds()
    if abs(seconds) < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [f"{count} {unit}" for count, unit in ((days, "d"), (hours, "h"), (minutes, "min"), (rest, "s")) if count]
    return " ".join(parts[:2])


def _cell(value: Any) -> str:
    """As text_of; times may be broken between date and time."""
    return text_of(value).replace("T", " ") if isinstance(value, datetime) else text_of(value)


def _print_table(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> int:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    all_rows = list(rows)
    for column in columns:
        is_number = any(type(row.get(column)) is int for row in all_rows)
        is_whole = column in _UNBROKEN
        table.add_column(column, justify="right" if is_number else "left", overflow="fold", no_wrap=is_whole)
    for row in all_rows:
        texts = [_cell(row.get(column)) for column in columns]
        table.add_row(*(Text(text, style=_MARKS.get(text, "")) for text in texts))
    Console().print(table)
    return len(all_rows)
