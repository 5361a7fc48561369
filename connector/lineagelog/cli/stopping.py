"""How a command that goes on is stopped."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager


@contextmanager
def stopping() -> Iterator[threading.Event]:
    """Set by SIGTERM and Ctrl-C: what is on its way is finished and remembered. A second one breaks off."""
    stop = threading.Event()

    def end(*_: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    with ExitStack() as stack:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                stack.callback(signal.signal, number, signal.signal(number, end))
        yield stop
