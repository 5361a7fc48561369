"""The one place where text leaves: lines for people, and rows as a table, tab-separated, CSV or NDJSON.

For people credentials are masked, and control characters shown as escapes; JSON is data, with those escaped in its way.
"""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Final

import typer

from lineagelog.errors import SettingsError
from lineagelog.shown import duration, for_people, json_visible, line_for_people

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

_UNBROKEN: Final = frozenset(("run_id", "outcome", "status", "duration", "success", "id", "state"))
"""Columns of a table that are never broken: what people copy, and what is short."""

_IF_ANY: Final = frozenset(("status", "map_index", "attempt", "attempts"))
"""Columns of a table that are left out where no row has anything in them."""


class Form(StrEnum):
    """How rows are printed."""

    TABLE = "table"
    TABS = "tabs"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def settle_streams() -> None:
    """Have somewhere to print to, whatever the caller closed; no text that cannot be encoded ends a command.

    A descriptor that is closed would be given to the next file or connection, and libraries would write into it. A
    closed standard input stays None: `load -` has nothing to read then, which is not the same as no event.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w", encoding="utf-8", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def put(text: object = "", *, err: bool = False, flush: bool = False) -> None:
    """Print lines for people."""
    print(for_people(str(text)), file=sys.stderr if err else sys.stdout, flush=flush)


def tell(text: object) -> None:
    """Print a line on stderr at once: what is beside the result, or wrong."""
    print(line_for_people(str(text)), file=sys.stderr, flush=True)


def put_exactly(text: str) -> None:
    """Print a text of our own as it is: a new token, SQL, the settings file."""
    sys.stdout.write(text)


def put_json(document: str, *, err: bool = False) -> None:
    """Print one line or more of JSON."""
    print(json_visible(document), file=sys.stderr if err else sys.stdout)


def put_bytes(content: bytes) -> None:
    """Write bytes as they are; where a terminal would obey them, as for people."""
    if sys.stdout.isatty():
        put(content.decode("utf-8", "replace"))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def form_of(**asked: bool) -> Form:
    """The form that the options ask for, by its name."""
    chosen = [Form(name) for name, is_asked in asked.items() if is_asked]
    if len(chosen) > 1:
        raise SettingsError(f"{' and '.join(f'--{form}' for form in chosen)} exclude each other")
    if chosen == [Form.PARQUET] and sys.stdout.isatty():
        raise SettingsError("--parquet writes bytes: redirect them, as in `> findings.parquet`")
    if chosen:
        return chosen[0]
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
    shown = line_for_people if form is Form.TABS else for_people
    for row in rows:
        writer.writerow([shown(text_of(row.get(column))) for column in columns])
        count += 1
    return count


def print_facts(facts: Mapping[str, Any], width: int = 18) -> None:
    """Print what is known of one thing: a name and a value on each line, without those that are not there."""
    for name, value in facts.items():
        if value is not None:
            print(f"{name:<{width}}{line_for_people(text_of(value))}")


def print_json(value: Any) -> None:
    """Print one JSON document."""
    import orjson

    # a lone surrogate in a name is the only text that orjson refuses; such a name was repaired before it was stored
    put_json(orjson.dumps(value, default=_plain, option=orjson.OPT_INDENT_2 | orjson.OPT_UTC_Z).decode())


def _print_json(row: Mapping[str, Any]) -> int:
    import orjson

    put_json(orjson.dumps(row, default=_plain, option=orjson.OPT_UTC_Z).decode())
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


def span_of(seconds: float | None) -> timedelta | None:
    """A number of seconds as the span of time that it is."""
    return None if seconds is None else timedelta(seconds=seconds)


def _cell(value: Any) -> str:
    """For people, on one line; times may be broken between date and time."""
    return text_of(value).replace("T", " ") if isinstance(value, datetime) else line_for_people(text_of(value))


def _print_table(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> int:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    all_rows = list(rows)
    columns = [name for name in columns if name not in _IF_ANY or any(row.get(name) is not None for row in all_rows)]
    for column in columns:
        is_number = any(type(row.get(column)) is int for row in all_rows)
        is_whole = column in _UNBROKEN
        table.add_column(column, justify="right" if is_number else "left", overflow="fold", no_wrap=is_whole)
    for row in all_rows:
        texts = [_cell(row.get(column)) for column in columns]
        table.add_row(*(Text(text, style=_MARKS.get(text, "")) for text in texts))
    Console().print(table)
    return len(all_rows)
