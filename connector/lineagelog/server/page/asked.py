"""What a view is asked: by whom, of what, and when."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from msgspec import Struct

from lineagelog.errors import InputError
from lineagelog.read import Reader
from lineagelog.read.explore import Explorer
from lineagelog.read.period import parse_instant
from lineagelog.server.answers import Refusal
from lineagelog.store.ledgers.episodes import FindingStatus
from lineagelog.store.ledgers.finding_rows import FindingFilter, FindingRow
from lineagelog.store.ledgers.tokens import Grant, Scope

from . import address

_FINDINGS = 500
"""Of one list."""


class Asked(Struct, frozen=True, kw_only=True):
    """One request of a view; used on a thread."""

    reader: Reader
    explorer: Explorer
    grant: Grant
    query: Mapping[str, str]
    parts: Mapping[str, str]
    """What the path names."""
    now: datetime
    path: str
    """With the query, as it was asked for."""
    egeria_url: str | None = None
    """The template of links to engine actions."""

    def text(self, name: str) -> str:
        """A parameter; empty if it is not given."""
        return self.query.get(name, "").strip()

    def number(self, name: str, default: int, most: int) -> int:
        """A whole number from 0 on; what is none is the default."""
        value = self.text(name)
        return min(int(value), most) if value.isascii() and value.isdigit() and len(value) < 9 else default

    def instant(self, name: str) -> datetime | None:
        """A point in time. Raises Refusal: 400."""
        value = self.text(name)
        if not value:
            return None
        try:
            return parse_instant(value, self.now).astimezone(UTC)
        except InputError as problem:
            raise Refusal(400, "bad_parameter", f"{name}: {problem}", parameter=name) from None

    @property
    def after(self) -> str | None:
        """The cursor of the page."""
        return self.text("after") or None

    @property
    def named(self) -> tuple[str, str]:
        """Namespace and name of the path."""
        return address.from_pair(self.parts["namespace"], self.parts["name"])

    @property
    def key(self) -> UUID:
        """The key of what the path names. Raises Refusal: 404."""
        found = address.key_in(*self.named)
        if found is None:
            raise missing("name")
        return found

    @property
    def may_say(self) -> bool:
        """Whether findings may be acknowledged and muted."""
        return self.grant.allows(Scope.ADMIN)

    def findings(self, **wanted: Any) -> list[FindingRow]:
        """Findings, worst first, then last seen first."""
        own = None if self.grant.namespaces is None else frozenset(self.grant.namespaces)
        wanted.setdefault("statuses", (FindingStatus.OPEN,))
        listing = self.reader.findings(FindingFilter(within=own, **wanted), reverse=True)
        rows = listing.page(_FINDINGS).rows
        return sorted(rows, key=lambda row: -row.severity.rank)


def missing(what: str) -> Refusal:
    """The refusal of what there is not, or is not to be seen."""
    return Refusal(404, "not_found", f"There is no {what} here, or it is not for your token to see.")
