"""Runs tasks in the background of `serve`, each in one process per store: who dies is followed by another."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, Protocol

import structlog

from lineagelog.errors import LineageLogError, SettingsError
from lineagelog.metrics import Sample
from lineagelog.shown import mask_text
from lineagelog.store.ledgers.leadership import Candidacy, Leadership

_LOOK_SECONDS: Final = 2.0
"""How often it is looked whether a task has no leader, and whether we still lead ours."""
_AGAIN_SECONDS: Final = 5.0
"""How long a task that failed is left to others, and how long it is waited for a database that is away."""

_log = structlog.get_logger(__name__)


class Task(Protocol):
    """Work for one process of a store at a time."""

    @property
    def name(self) -> str:
        """The same in all processes of the store."""

    def run(self, stop: threading.Event) -> None:
        """Work until ``stop`` is set, and return soon then. An error, or a return before, leaves the task to others.

        Leadership may be lost without notice (the session broke, another process leads by now): what must never be
        done twice at once needs a lock of its own beside it.
        """


class Background:
    """Stands for the tasks and runs those that this process leads, from start() to stop()."""

    def __init__(self, leadership: Leadership, tasks: Sequence[Task], *, look_seconds: float = _LOOK_SECONDS) -> None:
        self._leadership, self._look_seconds = leadership, look_seconds
        self._stop = threading.Event()
        self._posts = [_Post(task) for task in tasks]
        self._thread = threading.Thread(target=self._serve, name="lineagelog-background", daemon=True)
        self._problem: str | None = None

    def start(self) -> None:
        """Begin to stand for the tasks."""
        self._thread.start()

    def stop(self, timeout: float | None = None) -> bool:
        """End the tasks that are led here; whether all have ended within ``timeout`` seconds."""
        self._stop.set()
        if self._thread.ident is None:
            return True
        self._thread.join(timeout)
        late = [post.name for post in self._posts if post.is_working]
        for name in late:
            _log.warning("task does not end", action="task", task=name)
        return not late and not self._thread.is_alive()

    @property
    def led(self) -> frozenset[str]:
        """The names of the tasks that this process leads."""
        return frozenset(post.name for post in self._posts if post.is_working)

    def samples(self) -> Iterator[Sample]:
        """For the server's metrics: per task whether it is led here, whether it is in trouble, and its failures."""
        for post in self._posts:
            labels = {"task": post.name}
            yield Sample(
                "lineagelog_task_leads", "1 while this process leads the task", "gauge", labels, post.is_working
            )
            text = "1 while the task, or standing for it, is in trouble here"
            is_failing = post.is_failing or self._problem is not None
            yield Sample("lineagelog_task_failing", text, "gauge", labels, is_failing)
            for error, count in tuple(post.failures.items()):
                text = "Failures of the task in this process"
                yield Sample("lineagelog_task_failures", text, "counter", {**labels, "error": error}, count)

    # --- the thread that stands -------------------------------------------------------------------------------------

    def _serve(self) -> None:
        while not self._stop.is_set():
            try:
                with self._leadership.stand() as candidacy:
                    self._lead(candidacy)
            except SettingsError as error:  # a pooler of transactions, which it will be tomorrow, too
                self._tell("tasks do not run", error)
                return
            except Exception as error:  # the database is away, or worse: the next time may be better
                self._tell("tasks wait", error)
                self._stop.wait(_AGAIN_SECONDS)

    def _lead(self, candidacy: Candidacy) -> None:
        """Take what is free, run it, and look after it, until told to stop or the session is lost."""
        try:
            while not self._stop.is_set():
                for post in self._posts:
                    if post.has_ended:
                        candidacy.leave(post.name)
                        post.close()
                free = {post.name: post for post in self._posts if post.is_free}
                taken = candidacy.take(free)
                self._problem = None
                for name, post in free.items():
                    post.begin() if name in taken else post.pass_over()
                self._stop.wait(self._look_seconds)
        finally:  # before the session, and its locks, are left
            for post in self._posts:
                post.tell_to_end()
            for post in self._posts:
                post.close()

    def _tell(self, what: str, error: Exception) -> None:
        before, self._problem = self._problem, _text(error)
        if self._problem != before:
            tasks = [post.name for post in self._posts]
            _log.warning(what, action="task", tasks=tasks, error=self._problem)


class _Post:
    """A task and what this process does about it. Only the thread that stands calls the methods; others look."""

    def __init__(self, task: Task) -> None:
        self.name = task.name
        self.failures: Counter[str] = Counter()
        self._task = task
        self._problem: str | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._begun = 0.0
        self._not_before = 0.0

    @property
    def is_working(self) -> bool:
        """Whether the task runs here."""
        thread = self._thread
        return thread is not None and thread.is_alive()

    @property
    def has_ended(self) -> bool:
        """Whether the task ran here and is over."""
        return self._thread is not None and not self._thread.is_alive()

    @property
    def is_free(self) -> bool:
        """Whether this process may stand for the task now."""
        return self._thread is None and time.monotonic() >= self._not_before

    @property
    def is_failing(self) -> bool:
        """Whether the task failed here, and neither works again nor is led by another process."""
        works = self.is_working and time.monotonic() - self._begun > _AGAIN_SECONDS
        return self._problem is not None and not works

    def begin(self) -> None:
        """Run the task, on a thread of its own."""
        _log.info("leads", action="task", task=self.name)
        self._stop, self._begun = threading.Event(), time.monotonic()
        self._thread = threading.Thread(target=self._run, name=f"lineagelog-{self.name}", daemon=True)
        self._thread.start()

    def pass_over(self) -> None:
        """Another process leads the task: what went wrong here is no longer of interest."""
        self._problem = None

    def tell_to_end(self) -> None:
        """Ask the task to end."""
        self._stop.set()

    def close(self) -> None:
        """Wait until the task has ended, if it ran."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
            _log.info("leads no more", action="task", task=self.name)

    def _run(self) -> None:
        try:
            self._task.run(self._stop)
        except Exception as error:  # a defect of one task must not end the others, nor the server
            self.failures[type(error).__name__] += 1
            before, self._problem = self._problem, _text(error)
            if self._problem != before:
                _log.warning("task failed", action="task", task=self.name, error=self._problem)
        else:
            self._problem = None
        self._not_before = time.monotonic() + _AGAIN_SECONDS


def _text(error: Exception) -> str:
    return str(error) if isinstance(error, LineageLogError) else f"{type(error).__name__}: {mask_text(str(error))}"
