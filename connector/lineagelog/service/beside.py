"""All that runs beside one server: its tasks on connections of their own, and their samples for its metrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Protocol

from lineagelog.forward import ForwardTarget
from lineagelog.metrics import Sample
from lineagelog.settings import Settings
from lineagelog.store import Database, LogStore
from lineagelog.store.ledgers.forwarding import Forwarding
from lineagelog.store.ledgers.leadership import Leadership

from .background import Background, Task

_STOP_SECONDS: Final = 10.0
"""What a stop waits for work on its way; an attempt that is broken off is made again by the next leader."""


class SideWork(Protocol):
    """A kind of work, with a task or several."""

    @property
    def tasks(self) -> Sequence[Task]:
        """What is to be led."""

    def samples(self) -> Iterable[Sample]:
        """How it does."""

    def close(self) -> None:
        """Let go of what it holds."""


class Beside:
    """The tasks of one server."""

    def __init__(self, background: Background, works: Sequence[SideWork]) -> None:
        self._background, self._works = background, works

    def start(self) -> None:
        """Begin to stand for the tasks."""
        self._background.start()

    def samples(self) -> Iterable[Sample]:
        """Of the tasks, and of what they do."""
        yield from self._background.samples()
        for work in self._works:
            yield from work.samples()


@contextmanager
def beside(store: LogStore, targets: Sequence[ForwardTarget], settings: Settings) -> Iterator[Beside]:
    """Tasks with connections of their own, so that they never wait for the server's, nor the server for them."""
    # one to stand with; of each target the lease and the reading; and the status; two to ask and to publish; two to ask
    # and to record; one to look for news
    asked = 2 * settings.egeria.publish + 2 * bool(settings.analyse.schedule) + settings.notify.is_wanted
    database = store.database.with_own_pool(2 * len(targets) + 2 + asked)
    works = list(_works(database, targets, settings))
    background = Background(Leadership(database), [task for work in works for task in work.tasks])
    try:
        yield Beside(background, works)
    finally:
        background.stop(_STOP_SECONDS)
        for work in works:
            work.close()
        database.dispose()


def _works(database: Database, targets: Sequence[ForwardTarget], settings: Settings) -> Iterator[SideWork]:
    """What there is to do; what a work brings in is loaded where there is work for it."""
    if targets:
        from .forwarding import Forwards

        yield Forwards(Forwarding(database), targets)
    if settings.egeria.publish:
        from .publishing import Publishing

        yield Publishing(database, settings)
    if settings.analyse.schedule:
        from .analysing import ScheduledAnalyses

        yield ScheduledAnalyses(database, settings)
    if settings.notify.is_wanted:
        from .notifying import Notifying

        yield Notifying(database, settings.notify)
