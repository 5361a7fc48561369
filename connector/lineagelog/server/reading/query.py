"""The parameters of reads, as they are declared and as they are given: what is wrong is refused by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import parse_qsl

from msgspec import Struct, field

from lineagelog.errors import InputError
from lineagelog.read import Stop, Window
from lineagelog.read.period import ALWAYS, parse_instant, parse_start
from lineagelog.server.answers import Refusal
from lineagelog.server.limits import Limits

DEFAULT_PAGE: Final = 100
_BOOLEANS: Final = {"true": True, "false": False}
TEXT: Final = {"type": "string"}
SOME_TEXT: Final = {"type": "string", "minLength": 1}


class QueryParameter(Struct, frozen=True):
    """A parameter of a read: what is accepted, and what OpenAPI says of it."""

    name: str
    description: str
    schema: Mapping[str, Any] = field(default_factory=lambda: TEXT)

    @property
    def document(self) -> dict[str, Any]:
        """As OpenAPI spells it."""
        return {"name": self.name, "in": "query", "description": self.description, "schema": self.schema}


SINCE: Final = QueryParameter(
    "since",
    "From here on: 2026-03-01, 2026-03-01T08:00:00Z, -7d (s, m, h, d, w), now, or all, as if absent",
    SOME_TEXT,
)
UNTIL: Final = QueryParameter("until", "Before this; written like since", SOME_TEXT)
LIMIT: Final = QueryParameter(
    "limit", "Rows at most", {"type": "integer", "minimum": 1, "maximum": 1000, "default": DEFAULT_PAGE}
)
CURSOR: Final = QueryParameter("cursor", "next_cursor of the page before, in the same order", SOME_TEXT)
REVERSE: Final = QueryParameter("reverse", "Whether newest first", {"type": "boolean", "default": False})
WINDOW: Final = (SINCE, UNTIL)
PAGE: Final = (REVERSE, LIMIT, CURSOR)


class Query:
    """The query string of one request."""

    def __init__(self, query_string: bytes, limits: Limits) -> None:
        try:
            pairs = parse_qsl(query_string.decode("ascii"), keep_blank_values=True, max_num_fields=50, errors="strict")
        except (ValueError, UnicodeDecodeError):
            raise Refusal(400, "bad_parameter", "the query string cannot be read", parameter="?") from None
        self.given: dict[str, str] = {}
        self.limits = limits
        self.stop = Stop()
        """Ends what is asked, where nobody waits for it any more."""
        for name, value in pairs:
            if "\0" in value:
                raise bad(name, "must not hold NUL")
            self.given[name] = value

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

    @property
    def reverse(self) -> bool:
        """Whether newest first."""
        return self.boolean("reverse") or False

    def limit(self) -> int:
        """The number of rows of a page."""
        value, most = self.given.get("limit", str(DEFAULT_PAGE)), self.limits.max_page
        if not (value.isascii() and value.isdigit() and 1 <= int(value[:9]) <= most and len(value) < 9):
            raise bad("limit", f"must be 1 to {most}")
        return int(value)

    def count(self, name: str, default: int, most: int) -> int:
        """A whole number from 0 to ``most``."""
        value = self.given.get(name, str(default))
        if not (value.isascii() and value.isdigit() and len(value) < 9 and int(value) <= most):
            raise bad(name, f"must be 0 to {most}")
        return int(value)

    def window(self, now: datetime | None = None, since: str | None = None) -> Window:
        """``since`` and ``until``; where they are not given, all time, or from ``since`` up to now."""
        now = now or datetime.now(UTC)
        start = self.instant("since", now, parse_start, ALWAYS if since is None else since)
        end = self.instant("until", now, parse_instant, None if since is None else "now")
        window = Window(start or datetime.min.replace(tzinfo=UTC), end or datetime.max.replace(tzinfo=UTC))
        if window.end < window.start:
            raise bad("until", "lies before since")
        return window

    def instant(
        self, name: str, now: datetime, parse: Callable[[str, datetime], datetime], default: str | None = None
    ) -> datetime | None:
        """A point in time."""
        value = self.given.get(name, default)
        if value is None:
            return None
        try:
            return parse(value, now)
        except InputError as problem:
            raise bad(name, str(problem)) from None


def bad(name: str, problem: str) -> Refusal:
    """The refusal of a parameter."""
    return Refusal(400, "bad_parameter", f"{name}: {problem}", parameter=name)
