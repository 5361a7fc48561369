"""All that runs beside one server: its tasks on connections of their own, and their samples for its metrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from lineagelog.forward import ForwardTarget
from lineagelog.metrics import Sample
from lineagelog.store import LogStore
from lineagelog.store.ledgers.forwarding import Forwarding
from lineagelog.store.ledgers.leadership import Leadership

from .background import Background
from .forwarding import Forwards

_STOP_SECONDS: Final = 10.0
"""What a stop waits for work on its way; an attempt that is broken off is made again by the next leader."""


class Beside:
    """The tasks of one server."""

    def __init__(self, background: Background, forwards: Forwards) -> None:
        self._background, self._forwards = background, forwards

    def start(self) -> None:
        """Begin to stand for the tasks."""
        self._background.start()

    def samples(self) -> Iterable[Sample]:
        """Of the tasks, and of what they do."""
        yield from self._background.samples()
        yield from self._forwards.samples()


@contextmanager
def beside(store: LogStore, targets: Sequence[ForwardTarget]) -> Iterator[Beside]:
    """Tasks with connections of their own, so that they never wait for the server's, nor the server for them."""
    # one to stand with; of each target the lease and the reading; and the status
    database = store.database.with_own_pool(2 * len(targets) + 2)
    forwards = Forwards(Forwarding(database), targets)
    background = Background(Leadership(database), forwards.tasks)
    try:
        yield Beside(background, forwards)
    finally:
        background.stop(_STOP_SECONDS)
        forwards.close()
        database.dispose()
