"""The JVM in this process: the one module that uses JPype."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import jpype
import jpype.config
import structlog

from lineagelog.errors import DaemonError

from .java import Java
from .launch import CORE_JAR, Launch
from .pump import CallQueue, EventQueue

_BRIDGE: Final = "io.github.lineagelog.egeria.Bridge"
_ASKS_FOR_NATIVE: Final = 22
_OWN_HOOKS: Final = 2
"""Threads that run while the JVM exits and are not the platform's: JPype's hook, and ours, for which that one waits."""


_log = structlog.get_logger(__name__)


class Jvm:
    """A running JVM. There is one in the life of a process, and it ends with it.

    Its memory is the platform's: any call may fail with a passing OutOfMemoryError, which must not end us.
    """

    def __init__(self, java: Java, launch: Launch, options: Sequence[str] = ()) -> None:
        """Start it. Raises DaemonError."""
        self._start(java, launch, options)
        self._launch = launch
        self._system = jpype.JClass("java.lang.System")
        self._thread = jpype.JClass("java.lang.Thread")
        self._threads = jpype.JClass("java.lang.management.ManagementFactory").getThreadMXBean()
        try:
            self._bridge = jpype.JClass(_BRIDGE)
        except TypeError:
            raise DaemonError(f"{CORE_JAR} is not ours: it has no {_BRIDGE} (make jar)") from None
        self._own_threads = self._non_daemon()
        self._before_exit = self._thread_ids()
        self._hooks: set[int] = set()
        self.told_to_exit = False
        """Whether it was us who ended the platform."""
        self._main = self._find_main()

    def _start(self, java: Java, launch: Launch, options: Sequence[str]) -> None:
        try:
            ctypes.CDLL(str(java.library))
        except OSError as error:  # JPype would end the process
            raise DaemonError(f"the JVM of {java.home} cannot be started: {_one_line(error)}") from error
        # JPype loads its library; newer Javas want to be told that this is meant
        native = ["--enable-native-access=ALL-UNNAMED"] if java.version >= _ASKS_FOR_NATIVE else []
        # Python's end must not wait for the platform's threads, which go on
        jpype.config.destroy_jvm = False
        try:
            jpype.startJVM(
                str(java.library),
                *native,
                "-Xrs",  # signals stay Python's: the JVM's own handlers would end the process, even while it starts
                *options,
                *launch.properties,
                classpath=[str(path) for path in launch.class_path],
                convertStrings=False,
                interrupt=True,
            )
        except Exception as error:
            raise DaemonError(f"the JVM of {java.home} cannot be started: {_one_line(error)}") from error

    def _find_main(self) -> Any:
        name = self._launch.main_class
        loader = jpype.JClass("java.lang.ClassLoader").getSystemClassLoader()
        try:
            found = jpype.JClass("java.lang.Class").forName(name, False, loader)
            return found.getMethod("main", jpype.JClass("java.lang.Class").forName("[Ljava.lang.String;"))
        except jpype.JException as error:
            raise DaemonError(f"the platform's main class {name} cannot be used: {_one_line(error)}") from None

    # --- the bridge -------------------------------------------------------------------------------------------------

    @property
    def events(self) -> EventQueue:
        """The events' queue."""
        return cast(EventQueue, self._bridge.events())

    @property
    def calls(self) -> CallQueue:
        """The life cycle calls' queue."""
        return cast(CallQueue, self._bridge.calls())

    def attach(self) -> None:
        """Let Java know that somebody takes."""
        self._bridge.attach()

    def detach(self, reason: str) -> None:
        """Whoever waits, and whoever comes later, is told the reason."""
        self._bridge.detach(reason)

    # --- the platform -----------------------------------------------------------------------------------------------

    def run_main(self, on_end: Callable[[str | None], None]) -> None:
        """Run the platform's main on a Java thread of its own; ``on_end`` gets its error's text, None without one."""
        words = jpype.JArray(jpype.JString)(list(self._launch.arguments))
        arguments = jpype.JArray(jpype.JObject)([words])  # one argument, the array

        def run() -> None:
            try:
                self._main.invoke(None, arguments)
            except Exception as error:  # whatever the platform throws; JPype makes it one of Python's
                on_end(_told(error))
            else:
                on_end(None)

        thread = self._new_thread(run, "main")
        # frameworks find their classes by it; on a thread of Python it is JPype's
        thread.setContextClassLoader(jpype.JClass("java.lang.ClassLoader").getSystemClassLoader())
        thread.start()

    def user_threads(self) -> int:
        """How many threads of the platform keep it alive."""
        return self._asked(lambda: max(0, self._non_daemon() - self._own_threads), 1)

    def waiting(self, otherwise: int = 0) -> int:
        """How many events nobody has taken yet."""
        return self._asked(lambda: int(self.events.waiting()), otherwise)

    def on_exit(self, run: Callable[[], None]) -> None:
        """Run this when the JVM goes, whoever ends it; Python may use Java until it returns."""
        # JPype's own way: a plain hook of Java's would run beside the one that cuts Python off
        jpype.JClass("java.lang.Runtime").getRuntime().addShutdownHook(self._new_thread(run, "lineagelog-exit"))

    def exit(self) -> None:
        """Let the platform run its shutdown hooks, on a thread beside; returns at once."""
        self.told_to_exit = True
        threading.Thread(target=self._exit, name="lineagelog-system-exit", daemon=True).start()

    def _exit(self) -> None:
        self.note_threads()
        self._system.exit(0)

    def note_threads(self) -> None:
        """Remember the threads there are; those that an exit adds run its hooks."""
        self._before_exit = self._asked(self._thread_ids, self._before_exit)

    def note_hooks(self) -> None:
        """At the start of what `on_exit` runs, when all hooks have begun: remember their threads."""
        self._hooks = self._asked(self._new_threads, set())

    def _new_threads(self) -> set[int]:
        new = jpype.JArray(jpype.JLong)(sorted(self._thread_ids() - self._before_exit))
        found = [info for info in self._threads.getThreadInfo(new) if info is not None and not info.isDaemon()]
        return {int(info.getThreadId()) for info in found}

    def hooks_running(self) -> bool:
        """Whether the platform's hooks are at work; asked while the one of `on_exit` waits."""
        return self._asked(lambda: len(self._thread_ids() & self._hooks) > _OWN_HOOKS, bool(self._hooks))

    def _asked[T](self, question: Callable[[], T], otherwise: T) -> T:
        try:
            return question()
        except Exception as error:
            _log.warning("the JVM does not answer", action="jvm", error=type(error).__name__)
            return otherwise

    def _thread_ids(self) -> set[int]:
        return {int(number) for number in self._threads.getAllThreadIds()}

    def _non_daemon(self) -> int:
        return int(self._threads.getThreadCount()) - int(self._threads.getDaemonThreadCount())

    def _new_thread(self, run: Callable[[], None], name: str) -> Any:
        thread = self._thread(jpype.JProxy("java.lang.Runnable", dict={"run": run}), name)
        thread.setDaemon(False)
        return thread


def _told(error: BaseException) -> str:
    try:
        return _one_line(error)
    except Exception:  # no memory for its text: it must be told all the same
        return type(error).__name__


def _one_line(error: BaseException) -> str:
    """An exception's own text; of a call by reflection, that of its cause."""
    cause = error
    while isinstance(cause, jpype.JException) and "InvocationTarget" in type(cause).__name__ and cause.getCause():
        cause = cause.getCause()
    text = str(cause.toString()) if isinstance(cause, jpype.JException) else str(cause)
    return " ".join(text.split())[:500]
