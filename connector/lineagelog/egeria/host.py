"""Hosts an integration daemon's platform: starts the JVM, serves the connectors, and stops so that nothing is lost."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Final, Self

import structlog

from lineagelog.errors import DaemonError

from .connector import Connectors
from .java import Java
from .launch import Launch
from .pump import CallPump, EventPump, insist

if TYPE_CHECKING:
    from .jvm import Jvm

_LOOK_SECONDS: Final = 0.2
_GOODBYE_SECONDS: Final = 1.0
"""What the JVM has for its last steps when everything of ours is closed."""
_FAILED: Final = 2
_ENDING: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_REASON: Final = "lineagelog is stopping: the event was not kept"

_log = structlog.get_logger(__name__)


class Host:
    """The process as an integration daemon; ``with`` starts the JVM and ends the process.

    ``run`` returns when it is time to stop and all connectors are closed. What the caller closes before the block ends
    (a database) is closed before the JVM goes.
    """

    def __init__(
        self,
        java: Java,
        launch: Launch,
        *,
        options: Sequence[str] = (),
        stop_seconds: float = 8.0,
        came: Sequence[int] = (),
    ) -> None:
        """``options``: the JVM's; ``stop_seconds``: what a stop may take; ``came``: signals that came before, which
        count when ``with`` is entered."""
        self._java, self._launch, self._options = java, launch, options
        self._stop_seconds = stop_seconds
        self._changed = threading.Event()
        self._came = came
        self._signals: list[int] = []
        self._exiting = False
        """Whether Java's own exit is under way."""
        self._main_ended: list[str | None] = []
        self._released = threading.Event()
        self._deadline: float | None = None
        self._jvm: Jvm | None = None

    def __enter__(self) -> Self:
        self._take_signals()
        from .jvm import Jvm

        begin = time.monotonic()
        atexit.register(_end, _FAILED)  # from now on Python's own end is none: Java's threads do not bear it
        self._jvm = Jvm(self._java, self._launch, self._options)
        self._jvm.on_exit(self._on_exit)
        took = round(time.monotonic() - begin, 2)
        _log.info("JVM started", action="jvm", java=self._java.version, home=str(self._java.home), seconds=took)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._jvm is not None:
            self._leave(self._jvm)
        self._released.set()  # the caller tells the error, then the process ends

    def run(self, connectors: Connectors) -> None:
        """Run the platform until SIGTERM, SIGINT, its own end, or its exit. Raises DaemonError if its main fails."""
        jvm = self._jvm
        assert jvm is not None  # noqa: S101  # for the type checker
        connectors.waiting = jvm.waiting
        events, calls = EventPump(jvm.events, connectors), CallPump(jvm.calls, connectors)
        jvm.attach()
        events.start()
        calls.start()
        gc.collect()
        gc.freeze()  # what is loaded by now stays: collections need not go through it
        if not self._signals:
            _log.info("platform starts", action="platform", main=self._launch.main_class)
            jvm.run_main(self._on_main_end)
        failure = self._wait(jvm, connectors)
        self._stop(jvm, connectors, events, calls, failure)
        if failure is not None:
            raise DaemonError(f"the platform failed: {failure}")

    def _wait(self, jvm: Jvm, connectors: Connectors) -> str | None:
        """Until something says that it is time to stop; why the platform failed, if it did."""
        while not self._signals and not self._exiting:
            self._changed.wait(_LOOK_SECONDS)  # short: a signal that another thread got does not wake this one
            if not self._exiting:
                jvm.note_threads()
                connectors.queued = jvm.waiting(connectors.queued)
            if self._main_ended and (self._main_ended[0] is not None or jvm.user_threads() == 0):
                return self._main_ended[0]
        return None

    def _stop(self, jvm: Jvm, connectors: Connectors, events: EventPump, calls: CallPump, failure: str | None) -> None:
        """Let the platform stop while its events are still taken, then finish what is taken, then refuse the rest."""
        begin = time.monotonic()
        self._deadline = end = begin + self._stop_seconds
        _log.info("stopping", action="stop", cause=self._cause())
        connectors.hurry()
        if not self._exiting and failure is None:  # of a failure Python tells, and ends the process
            jvm.exit()
        patience = 0.0 if failure is not None else self._stop_seconds / 2
        while connectors.started() and self._is_stopping(jvm) and time.monotonic() < begin + patience:
            time.sleep(_LOOK_SECONDS / 4)
        finished = events.stop(max(0.5, end - time.monotonic() - 1.0))
        insist(lambda: jvm.detach(_REASON), until=lambda: time.monotonic() > end)
        calls.stop(0.5)
        connectors.close(end - time.monotonic())
        _log.info("stopped", action="stop", finished=finished, seconds=round(time.monotonic() - begin, 2))

    def _is_stopping(self, jvm: Jvm) -> bool:
        """Whether the platform's hooks are at work."""
        return not self._exiting or jvm.hooks_running()

    def _cause(self) -> str:
        if self._signals:
            return signal.Signals(self._signals[0]).name
        return "the platform exits" if self._exiting else "the platform ended"

    def _leave(self, jvm: Jvm) -> None:
        """End the process when the platform's hooks are through, or their time is."""
        end = max(self._deadline or 0.0, time.monotonic() + _GOODBYE_SECONDS)
        if jvm.told_to_exit:
            while self._is_stopping(jvm) and time.monotonic() < end:
                time.sleep(_LOOK_SECONDS / 4)
            if self._is_stopping(jvm):
                _log.warning("the platform does not stop: the process ends", action="stop")
            _end(0)  # not by Java, whose end is no good place for Python's threads
        gc.disable()  # nothing of Java's may be given back while it goes
        self._released.set()
        time.sleep(max(0.0, end - time.monotonic()))
        _log.warning("the platform does not exit: the process ends", action="stop")
        _end(_FAILED)

    def _take_signals(self) -> None:
        """Handle signals, and end the process some time after one, whatever has become of the thread that handles them.

        What is acknowledged is on a disk by then, in the database or in a spool.
        """
        self._signals += self._came
        for number in _ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
                signal.signal(number, self._on_signal)
        signal.signal(signal.SIGQUIT, _on_quit)
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)

        def watch() -> None:
            while os.read(reading, 1)[0] not in _ENDING:
                pass
            time.sleep(self._stop_seconds + _GOODBYE_SECONDS)
            _log.error("the stop hangs: the process ends", action="stop")
            _end(_FAILED)

        threading.Thread(target=watch, name="lineagelog-signals", daemon=True).start()

    # --- told by others ---------------------------------------------------------------------------------------------

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        if self._signals:
            _end(128 + number)  # whoever asks twice does not want to wait
        self._signals.append(number)
        self._changed.set()

    def _on_exit(self) -> None:
        """On a Java thread, while the JVM exits: the process must not end before ours is closed."""
        if self._jvm is not None:
            self._jvm.note_hooks()
        self._exiting = True
        self._changed.set()
        self._released.wait(self._stop_seconds + _GOODBYE_SECONDS)

    def _on_main_end(self, error: str | None) -> None:
        self._main_ended.append(error)
        if error is not None:
            self._changed.set()


def _on_quit(*_: object) -> None:
    """Who is used to it from Java wants to see threads, not to end the process."""
    _log.info(f"for a dump of Java's threads: jcmd {os.getpid()} Thread.print", action="jvm")


def _end(code: int) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
