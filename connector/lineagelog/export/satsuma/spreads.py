"""Expands `...fragment` in schemas: a body's own fields stand, a spread adds at the end what is missing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lineagelog.export.satsuma.definitions import find_key, similar
from lineagelog.export.satsuma.tree import Field, Spread

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lineagelog.export.satsuma.definitions import Definitions
    from lineagelog.export.satsuma.tree import SchemaBlock

MAX_SPREADS = 64

type _Scope = tuple[str, str | None]  # file and namespace that a spread is written in


def expand(block: SchemaBlock, file: str, definitions: Definitions) -> tuple[Field, ...]:
    """The complete fields of a schema or fragment, in the order body, then spreads. Raises SatsumaError.

    A redeclared field shadows the spread one as a whole, and the first of two spreads wins (language
    specification 5.1).
    """
    return _fields(block.items, (file, block.namespace), definitions, (), None)


def _fields(
    items: Iterable[Field | Spread],
    scope: _Scope,
    definitions: Definitions,
    chain: tuple[str, ...],
    origin: str | None,
) -> tuple[Field, ...]:
    found: dict[str, Field] = {}
    spreads: list[Spread] = []
    for item in items:
        if isinstance(item, Spread):
            spreads.append(item)
        elif item.name not in found:
            found[item.name] = _field(item, scope, definitions, chain, origin)
    for spread in spreads:
        for field in _fragment_fields(spread, scope, definitions, chain):
            found.setdefault(field.name, field)
    return tuple(found.values())


def _field(
    field: Field, scope: _Scope, definitions: Definitions, chain: tuple[str, ...], origin: str | None
) -> Field:
    if field.children is None:
        return field if origin is None else replace(field, origin=origin)
    children = _fields(field.children, scope, definitions, chain, origin)
    return replace(field, children=children, origin=origin)


def _fragment_fields(
    spread: Spread, scope: _Scope, definitions: Definitions, chain: tuple[str, ...]
) -> tuple[Field, ...]:
    """The fields of the fragment that a spread names; each fragment is expanded once."""
    file, namespace = scope
    key = find_key(spread.name, namespace, definitions.fragments)
    if key is None:
        hint = (
            similar(spread.name, definitions.fragments) or "; define it or import it from the file that does"
        )
        raise definitions.error(file, spread, f"there is no fragment '{spread.name}'{hint}")
    if key in chain:
        circle = " → ".join([*chain[chain.index(key) :], key])
        raise definitions.error(file, spread, f"the fragments spread each other in a circle: {circle}")
    if len(chain) >= MAX_SPREADS:
        raise definitions.error(file, spread, f"fragments are spread more than {MAX_SPREADS} deep")
    known = definitions.expanded.get(key)
    if known is None:
        block, where = definitions.fragments[key]
        known = _fields(block.items, (where, block.namespace), definitions, (*chain, key), key)
        definitions.expanded[key] = known
    return known
