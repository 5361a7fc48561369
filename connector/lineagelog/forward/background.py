"""Forwards to several targets in the background of another program (`serve`): one thread each."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from lineagelog.store.ledgers.forwarding import Forwarding

from .forwarder import Forwarder, Observer, Sent
from .sending import OpenSender
from .target import ForwardTarget


class Background:
    """Follows each target, or forwards every ``interval`` seconds where the target has one, until stopped.

    Each thread holds one database connection, and uses a second one while it reads.
    """

    def __init__(
        self,
        forwarding: Forwarding,
        targets: Sequence[ForwardTarget],
        open_sender: OpenSender,
        *,
        observer: Observer | None = None,
    ) -> None:
        self._stop = threading.Event()
        self._forwarders = [
            Forwarder(forwarding, target, open_sender, observer=observer, stop=self._stop) for target in targets
        ]
        self._threads = [
            threading.Thread(target=each.serve, name=f"lineagelog-forward-{each.target.name}", daemon=True)
            for each in self._forwarders
        ]

    @property
    def sent(self) -> list[Sent]:
        """What was done so far, for metrics: one per target."""
        return [forwarder.sent for forwarder in self._forwarders]

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def stop(self, timeout: float | None = None) -> bool:
        """Finish the attempts that are on their way; whether all ended within ``timeout`` seconds."""
        self._stop.set()
        end = None if timeout is None else time.monotonic() + timeout
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(None if end is None else max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)
