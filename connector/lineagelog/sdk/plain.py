"""Any Python value as plain JSON values: a snapshot that later changes of the job's objects do not reach."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from datetime import date, datetime, time
from enum import Enum
from typing import Any, Final

import attr

_MAX_DEPTH: Final = 60


def plain(value: Any, depth: int = 0) -> Any:
    """Copy a value into dict, list, str, int, float, bool and None.

    Facet objects of the OpenLineage client, enums, dates, numpy scalars, sets and tuples become what JSON has for them,
    not-a-number and infinity become None, anything else its `str`. Raises ValueError beyond 60 levels.
    """
    if value is None or type(value) in (str, int, bool):
        return value
    if depth > _MAX_DEPTH:
        raise ValueError(f"a facet is nested deeper than {_MAX_DEPTH} levels")
    if isinstance(value, Mapping):
        return {str(key): plain(member, depth + 1) for key, member in value.items()}
    if isinstance(value, (list, tuple, Set)):
        return [plain(member, depth + 1) for member in value]
    if isinstance(value, Enum):
        return plain(value.value, depth + 1)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, (date, datetime, time)):
        return value.isoformat()
    if attr.has(type(value)):
        return _attributes(value, depth)
    if isinstance(value, (str, int)):  # subclasses
        return str(value) if isinstance(value, str) else int(value)
    item = getattr(value, "item", None)  # numpy and its kin
    if callable(item) and getattr(value, "shape", None) == ():
        return plain(item(), depth + 1)
    return str(value)


def _attributes(value: Any, depth: int) -> dict[str, Any]:
    """An attrs object of the client as the client would serialize it: without its None members."""
    members = ((field.name, getattr(value, field.name)) for field in attr.fields(type(value)))
    return {name: plain(member, depth + 1) for name, member in members if member is not None}
