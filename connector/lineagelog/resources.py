"""Finds the files that the wheel carries beside the code: in the package, or at the top of a checkout."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).parent
_CHECKOUT: Final = _PACKAGE.parents[1]


@cache
def sql_text(name: str) -> str:
    """A file of `sql/`, by its path there."""
    places = (_PACKAGE / "sql", _CHECKOUT / "sql")
    return next(file for place in places if (file := place / name).is_file()).read_text(encoding="utf-8")


@cache
def package_text(path: str) -> str:
    """A file that lies beside the code, by its path in the package."""
    return (_PACKAGE / path).read_text(encoding="utf-8")
