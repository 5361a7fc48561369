"""Chooses the compiled forms of a few pure functions where they were built; everything works without them.

``native/`` has their source; an installation builds them where cargo is (``hatch_build.py``), a checkout by
``make compiled``. The Python functions are the reference: tests hold the compiled ones to them. ``LINEAGELOG_PURE=1``
leaves the compiled ones aside.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ._compiled import Scanner


def _look() -> tuple[Any, str, str | None]:
    """The extension or None; what there is, for people; and why what was built cannot be used."""
    if os.environ.get("LINEAGELOG_PURE"):
        return None, "left aside by LINEAGELOG_PURE", None
    try:
        return import_module("lineagelog._compiled"), "in use", None
    except ModuleNotFoundError:
        return None, "not in this installation: pure Python, the same results with more CPU", None
    except ImportError as error:  # built for another platform or C library
        return None, "cannot be loaded: pure Python, the same results with more CPU", str(error)


_found, status, unusable = _look()

IN_USE: Final = _found is not None
"""Whether the compiled forms are used in this process; ``status`` says it in words."""

REFERENCES: Final[dict[str, Callable[..., Any]]] = {}
"""Name to Python function, of those that may have a compiled form."""


def compiled[F: Callable[..., Any]](reference: F) -> F:
    """Put the compiled function of the same name, where there is one, in the place of a Python function."""
    REFERENCES[reference.__name__] = reference
    form: F = getattr(_found, reference.__name__, reference)
    return form


def scanner(wanted: dict[str, Any]) -> Scanner | None:
    """A scanner of events for what is wanted of them, where it was built."""
    form: type[Scanner] | None = getattr(_found, "Scanner", None)
    return None if form is None else form(wanted)


def names() -> list[str]:
    """The compiled forms there are, by name."""
    return [name for name in vars(_found) if not name.startswith("_")] if IN_USE else []
