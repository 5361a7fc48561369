"""Strict mode: a decoded event against the OpenLineage specification's own schemas, without any network."""

from __future__ import annotations

from typing import Any

from .validator import specification


def strict_check(tree: Any) -> tuple[str, str] | None:
    """The first thing in which a decoded event departs from the specification: JSON path and what is wrong there.

    The event is checked against the core schema 2-0-2, formats included, and each facet whose ``_schemaURL`` names
    a version that comes with this package against that version. For ``parse(data, check=strict_check)``. Raises
    SettingsError where the extra ``strict`` is not installed.
    """
    departure = next(specification().departures(tree), None)
    return None if departure is None else (departure.path, departure.message)
