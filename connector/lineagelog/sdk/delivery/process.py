"""Which process this is: whether a copy of another, which may end without Python's own end; and what ends with it."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_imported_by: Final = os.getpid()
_last_duties: Final[list[Callable[[], object]]] = []
_armed: int | None = None
_over: int | None = None


def is_child() -> bool:
    """Whether this process is a fork, or a worker of multiprocessing.

    Such a process often ends by `os._exit`, or by a signal as soon as its result is delivered (``Pool.terminate``):
    what it has only in memory by then is lost.
    """
    return os.getpid() != _imported_by or _is_worker()


def _is_worker() -> bool:
    module: Any = sys.modules.get("multiprocessing.process")
    return module is not None and module.parent_process() is not None


def at_end(duty: Callable[[], object]) -> None:
    """Call a function at the end of this process and of its forks; what was added last goes first."""
    _last_duties.append(duty)


def arm() -> None:
    """Before an event is kept: see to it that the duties are done where this process will skip `atexit`.

    multiprocessing's workers leave by `os._exit` after their finalizers, which do not outlive a fork.
    """
    global _armed
    if _armed == os.getpid():
        return
    _armed = os.getpid()
    if _is_worker():
        from multiprocessing.util import Finalize

        Finalize(None, _do, exitpriority=-100)


def is_over() -> bool:
    """Whether the duties are done: nobody waits for what comes now."""
    return _over == os.getpid()


@atexit.register
def _do() -> None:
    global _over
    _over = os.getpid()
    for duty in reversed(_last_duties):
        with contextlib.suppress(Exception):
            duty()
