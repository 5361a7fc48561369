"""Chooses the compiled forms of a few pure functions where they were built; everything works without them.

``native/`` has their source and ``make compiled`` builds them. The Python functions are the reference: tests hold the
compiled ones to them. ``LINEAGELOG_PURE=1`` leaves the compiled ones aside.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ._compiled import Scanner

try:
    if os.environ.get("LINEAGELOG_PURE"):
        raise ImportError
    from . import _compiled as _forms
except ImportError:
    _found: Any = None
else:
    _found = _forms

IN_USE: Final = _found is not None
"""Whether the compiled forms are used in this process."""

REFERENCES: Final[dict[str, Callable[..., Any]]] = {}
"""Name to Python function, of those that may have a compiled form."""


def compiled[F: Callable[..., Any]](reference: F) -> F:
    """Put the compiled function of the same name, where there is one, in the place of a Python function."""
    REFERENCES[reference.__name__] = reference
    form: F = getattr(_found, reference.__name__, reference)
    return form


def scanner(wanted: dict[str, Any]) -> Scanner | None:
    """A scanner of events for what is wanted of them, where it was built."""
    return _found.Scanner(wanted) if IN_USE else None
