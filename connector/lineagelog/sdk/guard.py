"""Lineage never harms the job: what goes wrong is caught here and logged once."""

from __future__ import annotations

import contextlib
import functools
import logging
from typing import TYPE_CHECKING, Final

from lineagelog.shown import for_people, mask_text

if TYPE_CHECKING:
    from collections.abc import Callable

log: Final = logging.getLogger("lineagelog.sdk")

_MAX_KEPT: Final = 1000
_seen: set[str] = set()


def warn_once(text: str) -> None:
    """Log a warning the first time; the same text again only at level DEBUG."""
    text = for_people(text)
    known = text in _seen  # without a lock, which a fork could leave held: a race costs a second line
    if not known and len(_seen) < _MAX_KEPT:
        _seen.add(text)
    with contextlib.suppress(Exception):  # a broken log handler of the job is no reason to fail either
        log.log(logging.DEBUG if known else logging.WARNING, "%s", text)


def forget_warnings() -> None:
    """Log again what was logged before (tests, and after a new configuration)."""
    _seen.clear()


def describe(problem: BaseException) -> str:
    """The kind of an error and its first line, credentials masked; never fails."""
    try:
        text = str(problem).strip().splitlines()
    except Exception:
        text = []
    return mask_text(": ".join([type(problem).__name__, *text[:1]]))


def guarded[**P, R, D](what: str, default: D) -> Callable[[Callable[P, R]], Callable[P, R | D]]:
    """Decorate a function: an error in it is logged as "lineage: WHAT failed" and ``default`` returned."""

    def decorate(function: Callable[P, R]) -> Callable[P, R | D]:
        @functools.wraps(function)
        def safe(*args: P.args, **kwargs: P.kwargs) -> R | D:
            try:
                return function(*args, **kwargs)
            except Exception as problem:
                warn_once(f"lineage: {what} failed: {describe(problem)}")
                return default

        return safe

    return decorate
