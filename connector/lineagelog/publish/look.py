"""A look at what publishing would change: reads Egeria, and notes what would be asked of it in place of asking."""

from __future__ import annotations

from typing import Any, Final

from .find import Catalogue

_READS: Final = frozenset({"find", "get", "related"})
_NEW: Final = "(new)"
"""The GUID of what would be created."""


class Looking:
    """A catalogue that changes nothing."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self.changes: list[dict[str, Any]] = []
        """The calls that would be made, with their arguments."""

    def call(self, name: str, *, pages: bool = False, **arguments: Any) -> Any:
        """Read, or note the change. Raises what the catalogue raises."""
        if name in _READS:
            if _NEW in arguments.values():
                return [] if pages else {}
            return self._catalogue.call(name, pages=pages, **arguments)
        self.changes.append({"call": name, **arguments})
        return _NEW
