"""JSON paths, as notices and refusals name the places of an event: on one line, without what PostgreSQL refuses."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,79}")


def path_step(step: str | int) -> str:
    """One step: ``.name``, ``[0]``, or ``['odd name']``, cut to 80 characters."""
    if type(step) is str:
        return f".{step}" if _PLAIN_NAME.fullmatch(step) else f"[{step[:80]!r}]"
    return f"[{step}]"


def json_path(steps: Iterable[str | int]) -> str:
    """The path of these steps from the whole."""
    return "$" + "".join([path_step(step) for step in steps])
