"""The parameters of a read, checked: what is wrong is refused by the parameter's name."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import parse_qsl

from lineagelog.errors import InputError
from lineagelog.read import Window
from lineagelog.read.period import parse_instant

from .answers import Refusal

DEFAULT_PAGE: Final = 100
_ALWAYS: Final = Window(datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
_BOOLEANS: Final = {"true": True, "false": False}


class Query:
    """The query string of one request."""

    def __init__(self, query_string: bytes, max_page: int) -> None:
        try:
            pairs = parse_qsl(query_string.decode("ascii"), keep_blank_values=True, max_num_fields=50, errors="strict")
        except (ValueError, UnicodeDecodeError):
            raise Refusal(400, "bad_parameter", "the query string cannot be read", parameter="?") from None
        self.given = dict(pairs)
        self._max_page = max_page
        for name, value in pairs:
            if "\0" in value:
                raise bad(name, "must not hold NUL")

    def __contains__(self, name: str) -> bool:
        return name in self.given

    def only(self, *names: str) -> None:
        """Refuse parameters of other names: they are misspelt, and the answer would not be what was asked for."""
        for name in self.given:
            if name not in names:
                raise bad(name[:60], f"is not known here; known: {', '.join(names)}")

    def text(self, name: str) -> str | None:
        """A text, or None if it is not given."""
        return self.given.get(name)

    def choice(self, name: str, choices: tuple[str, ...]) -> str | None:
        """One of some words, in either case."""
        value = self.given.get(name)
        if value is not None and value.upper() not in choices:
            raise bad(name, f"must be one of {', '.join(choices)}")
        return None if value is None else value.upper()

    def boolean(self, name: str) -> bool | None:
        """``true`` or ``false``."""
        value = self.given.get(name)
        if value is not None and value.lower() not in _BOOLEANS:
            raise bad(name, "must be true or false")
        return None if value is None else _BOOLEANS[value.lower()]

    def limit(self) -> int:
        """The number of rows of a page."""
        value = self.given.get("limit", str(DEFAULT_PAGE))
        if not (value.isascii() and value.isdigit() and 1 <= int(value[:9]) <= self._max_page and len(value) < 9):
            raise bad("limit", f"must be 1 to {self._max_page}")
        return int(value)

    def window(self) -> Window:
        """``since`` and ``until``; all time where they are not given."""
        now = datetime.now(UTC)
        start, end = self._instant("since", now) or _ALWAYS.start, self._instant("until", now) or _ALWAYS.end
        if end < start:
            raise bad("until", "lies before since")
        return Window(start, end)

    def _instant(self, name: str, now: datetime) -> datetime | None:
        value = self.given.get(name)
        if value is None:
            return None
        try:
            return parse_instant(value, now)
        except InputError as problem:
            raise bad(name, str(problem)) from None


def bad(name: str, problem: str) -> Refusal:
    """The refusal of a parameter."""
    return Refusal(400, "bad_parameter", f"{name}: {problem}", parameter=name)


def filters(query: Query, *names: str) -> dict[str, Any]:
    """The text filters among ``names`` that are given, as arguments of the Reader."""
    return {name: value for name in names if (value := query.text(name)) is not None}
