"""The driver's own connection behind whatever a job's tracing, pool or framework has put around it."""

from __future__ import annotations

import contextlib
import types
from typing import Any, Final

_DRIVERS: Final = ("psycopg", "psycopg2", "pg8000", "sqlite3", "duckdb", "pymysql", "MySQLdb", "mysql", "mariadb")
_TELLING: Final = ("__wrapped__", "dbapi_connection", "driver_connection", "connection", "_connection", "_conn", "conn")
"""Attributes that are asked for by name, as a proxy may forward or compute them."""
_NO_PROXIES: Final = (str, bytes, int, float, list, tuple, dict, set, type, types.ModuleType, types.FunctionType)
_MAX_DEPTH: Final = 6
_MAX_OBJECTS: Final = 300


class LeftAloneError(Exception):
    """A look-up is left out, as it might harm the job; the text says why."""


def driver_of(value: object) -> str | None:
    """The driver whose connection the value is, by its real class: a proxy may claim another. None if it is none."""
    for base in type(value).__mro__:
        package = base.__module__.partition(".")[0].lstrip("_")
        if package in _DRIVERS and "connection" in base.__name__.lower() and not base.__name__.startswith("Pooled"):
            return package
    return None


def find_connection(given: object) -> Any:
    """The driver's connection that is ``given`` or stands behind it; None if there is none, or not just one."""
    level, seen = [given], {id(given)}
    for _ in range(_MAX_DEPTH):
        if found := [each for each in level if driver_of(each)]:
            return found[0] if len(found) == 1 else None
        if forwarded := {id(each): each for outer in level if driver_of(each := _forwards_to(outer))}:
            return next(iter(forwarded.values())) if len(forwarded) == 1 else None
        inner = {id(each): each for outer in level for each in _within(outer)}
        level = [each for number, each in inner.items() if number not in seen][:_MAX_OBJECTS]
        seen.update(inner)
    return None


def _forwards_to(proxy: object) -> object:
    """Whose method answers when the proxy is asked for ``commit``."""
    with contextlib.suppress(Exception):
        return getattr(proxy.commit, "__self__", None)  # type: ignore[attr-defined]
    return None


def _within(proxy: object) -> list[object]:
    """What a proxy holds: the values of its own attributes, without running its code, and some by name."""
    held: list[object] = []
    with contextlib.suppress(Exception):
        held += object.__getattribute__(proxy, "__dict__").values()
    for base in type(proxy).__mro__:
        for slot in vars(base).values():
            if isinstance(slot, types.MemberDescriptorType):
                with contextlib.suppress(Exception):
                    held.append(slot.__get__(proxy))
    for name in _TELLING:
        with contextlib.suppress(Exception):
            held.append(getattr(proxy, name))
    return [each for each in held if each is not None and not isinstance(each, _NO_PROXIES)]
