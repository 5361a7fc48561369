"""Expands `...fragment` in schemas: a body's own fields stand, a spread adds at the end what is missing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lineagelog.export.satsuma.definitions import find_key, similar
from lineagelog.export.satsuma.tree import Field, Spread

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lineagelog.export.satsuma.definitions import Definitions
    from lineagelog.export.satsuma.tree import SchemaBlock

MAX_SPREADS = 64
MAX_RECORDS = 128


@dataclass(frozen=True, slots=True)
class _Scope:
    """Where a body is written: its file and namespace, and the fragments that led there."""

    file: str
    namespace: str | None
    chain: tuple[str, ...] = ()

    @property
    def origin(self) -> str | None:
        """The fragment that the body belongs to."""
        return self.chain[-1] if self.chain else None


def expand(block: SchemaBlock, file: str, definitions: Definitions) -> tuple[Field, ...]:
    """The complete fields of a schema or fragment, in the order body, then spreads. Raises SatsumaError.

    A redeclared field shadows the spread one as a whole, and the first of two spreads wins (language
    specification 5.1).
    """
    fields, depth = _fields(block.items, _Scope(file, block.namespace), definitions)
    if depth > MAX_RECORDS:
        raise definitions.error(file, block, f"records are nested more than {MAX_RECORDS} deep through fragments")
    return fields


def _fields(items: Iterable[Field | Spread], scope: _Scope, definitions: Definitions) -> tuple[tuple[Field, ...], int]:
    """The fields of a body, and how deep its records are nested."""
    found: dict[str, Field] = {}
    spreads: list[Spread] = []
    depth = 0
    for item in items:
        if isinstance(item, Spread):
            spreads.append(item)
        elif item.name not in found:
            found[item.name], inside = _field(item, scope, definitions)
            depth = max(depth, inside)
    for spread in spreads:
        fields, inside = _fragment_fields(spread, scope, definitions)
        depth = max(depth, inside)
        for field in fields:
            found.setdefault(field.name, field)
    return tuple(found.values()), depth


def _field(field: Field, scope: _Scope, definitions: Definitions) -> tuple[Field, int]:
    if field.children is None:
        return (field if scope.origin is None else replace(field, origin=scope.origin)), 0
    children, depth = _fields(field.children, scope, definitions)
    return replace(field, children=children, origin=scope.origin), depth + 1


def _fragment_fields(spread: Spread, scope: _Scope, definitions: Definitions) -> tuple[tuple[Field, ...], int]:
    """The fields of the fragment that a spread names; each fragment is expanded once."""
    key = find_key(spread.name, scope.namespace, definitions.fragments)
    if key is None:
        hint = similar(spread.name, definitions.fragments) or "; define it or import it from its file"
        raise definitions.error(scope.file, spread, f"there is no fragment '{spread.name}'{hint}")
    if key in scope.chain:
        circle = " → ".join([*scope.chain[scope.chain.index(key) :], key])
        raise definitions.error(scope.file, spread, f"the fragments spread each other in a circle: {circle}")
    if len(scope.chain) >= MAX_SPREADS:
        raise definitions.error(scope.file, spread, f"fragments are spread more than {MAX_SPREADS} deep")
    known = definitions.expanded.get(key)
    if known is None:
        block, file = definitions.fragments[key]
        known = _fields(block.items, _Scope(file, block.namespace, (*scope.chain, key)), definitions)
        if known[1] > MAX_RECORDS:
            message = f"records are nested more than {MAX_RECORDS} deep through fragments"
            raise definitions.error(file, block, message)
        definitions.expanded[key] = known
    return known
