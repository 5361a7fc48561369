"""A listing: rows in the order of a key, streamed with constant memory or handed out in pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pkgutil import resolve_name
from typing import Any, Final, get_args, get_type_hints

from msgspec import Struct

from lineagelog.errors import InputError
from lineagelog.lists import RowList

from . import cursor
from .cursor import Key
from .rows import Page

PAGE: Final = 1000
"""Rows that a stream reads at once; between two pages no transaction is open."""
MAX_PAGE: Final = 10_000

type Fetch[T] = Callable[[Key | None, int], Sequence[tuple[Key, T]]]
"""Rows with their keys, in order: those after a key (None = from the start), at most so many; fewer = the end."""


class Listing[T]:
    """Iterate over it for all rows, or take a page.

    A row that is there from the first page to the last, with the same key, comes exactly once, whatever is inserted
    or purged meanwhile.
    """

    def __init__(self, name: str, kinds: tuple[type, ...], fetch: Fetch[T]) -> None:
        self._name, self._kinds, self._fetch = name, kinds, fetch

    def __iter__(self) -> Iterator[T]:
        key: Key | None = None
        while True:
            found = self._fetch(key, PAGE)
            for _, row in found:
                yield row
            if len(found) < PAGE:
                return
            key = found[-1][0]

    def page(self, limit: int, after: str | None = None) -> Page[T]:
        """At most ``limit`` rows (1 to 10,000) after a cursor. Raises InputError for a limit or cursor that is none."""
        if not 1 <= limit <= MAX_PAGE:
            raise InputError(f"a page has 1 to {MAX_PAGE} rows, not {limit}")
        key = None if after is None else cursor.decode(self._name, self._kinds, after)
        found = self._fetch(key, limit + 1)
        more = len(found) > limit
        rows = tuple([row for _, row in found[:limit]])
        return Page(rows, cursor.encode(self._name, found[limit - 1][0]) if more else None)


def rows_of(listed: RowList) -> Callable[..., Listing[Any]]:
    """The function that gives the rows of a list, as its declaration names it; its first argument is the Reader."""
    named = listed.source or f"reader:Reader.{listed.name.replace('-', '_')}"
    return resolve_name(f"lineagelog.read.{named}")  # type: ignore[no-any-return]


def row_of(listed: RowList) -> type[Struct]:
    """What a row of a list is, by the function that gives them."""
    (row,) = get_args(get_type_hints(rows_of(listed))["return"])
    return row  # type: ignore[no-any-return]
