"""What the lists of jobs and of datasets share: seen in a window, in the order of first sight, found by a text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from msgspec import Struct
from sqlalchemy import ColumnElement, Function, Select, TableClause, Text, Uuid, cast, column, func, literal
from sqlalchemy import table as from_table
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeEngine

from lineagelog.postgres.database import Database
from lineagelog.postgres.engine import translated_errors
from lineagelog.read.conditions import after, after_parameters
from lineagelog.read.cursor import Key
from lineagelog.read.listing import Listing
from lineagelog.read.making import Make
from lineagelog.read.rows import Window
from lineagelog.store.definition.tables import Name, Time

_SPECIAL: Final = str.maketrans({"\\": r"\\", "%": r"\%", "_": r"\_"})
_TYPES: Final[dict[str, TypeEngine[Any]]] = {
    **dict.fromkeys(("first_seen", "last_seen", "last_run_time"), Time),
    **dict.fromkeys(("job_key", "identity_key"), Uuid()),
    **dict.fromkeys(("names", "owners", "tags"), JSONB()),
}
"""Of the columns of views that are no texts."""


class Sought(NamedTuple):
    """Which jobs or datasets are asked for."""

    window: Window
    """Seen first before its end, and last not before its start."""
    name: str | None = None
    namespace: str | None = None
    """'' = none."""
    search: str | None = None
    """Part of a name, a tag, an owner or the description, in any case of letters."""
    reverse: bool = False
    """Seen first last comes first."""

    def seen(self, columns: Any) -> tuple[ColumnElement[bool], ...]:
        """The condition on a view that it was there in the window."""
        return columns.first_seen < literal(self.window.end), columns.last_seen >= literal(self.window.start)


def view(schema_name: str, name: str, *further: str, row: type[Struct]) -> TableClause:
    """A view with the columns that a row has, and further ones."""
    names = (*row.__struct_fields__, *further)
    return from_table(name, *(column(each, _TYPES.get(each, Name)) for each in names), schema=schema_name)


def function(schema_name: str, name: str) -> Callable[..., Function[Any]]:
    """A function of sql/views.sql; its name ends with the _ that SQLAlchemy takes off."""
    return getattr(getattr(func, f"{schema_name}_"), name)  # type: ignore[no-any-return]


def holds(text: ColumnElement[str], part: str) -> ColumnElement[bool]:
    """The condition that a search text holds a part, in any case of letters."""
    lowered = func.lower(cast(literal(f"%{part.translate(_SPECIAL)}%"), Text).collate("default"))
    return text.like(lowered.collate("C"))


def listing[T](
    database: Database,
    name: str,
    statement: Select[Any],
    key: tuple[ColumnElement[Any], ...],
    make: Make[T],
    *,
    reverse: bool,
) -> Listing[T]:
    """The rows of a statement in the order of its key (a time and a UUID), or against it."""
    key_names = [str(each.key) for each in key]

    def fetch(last: Key | None, limit: int) -> Sequence[tuple[Key, T]]:
        more = () if last is None else after(key, newest_first=reverse)
        ordered = statement.where(*more).order_by(*(each.desc() if reverse else each for each in key)).limit(limit)
        with translated_errors(), database.engine.connect() as connection:
            rows = connection.execute(ordered, after_parameters(last)).all()
        return [(tuple([getattr(row, each) for each in key_names]), make(row)) for row in rows]

    return Listing(f"{name}, newest first" if reverse else name, (datetime, UUID), fetch)
