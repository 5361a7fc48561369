"""What was learnt of an HTTP target, for all its lanes: whether it takes batches, how large a request may be."""

from __future__ import annotations

import hashlib
import threading
from typing import Final

import msgspec

from lineagelog.store.ledgers.forwarding import Learnt

from .target import ForwardTarget


class Habits(msgspec.Struct, frozen=True, omit_defaults=True):
    """The facts, as they are kept in the store."""

    endpoint: str = ""
    """Which endpoint they are of: another URL, or another setting of ``batch``, begins anew."""
    batches: bool | None = None
    """Whether it takes batches; None where that is not known."""
    max_bytes: int | None = None
    """Larger requests were refused."""


_NOTHING: Final = Habits()


def endpoint_of(target: ForwardTarget) -> str:
    """Names an endpoint without showing its URL, which may hold a secret."""
    text = "\n".join((target.kind, target.url, target.batch_url or "", target.batch, str(target.gzip)))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def habits_of(target: ForwardTarget, learnt: Learnt | None) -> Habits:
    """What is remembered of this endpoint; nothing where it is of another one, or cannot be read."""
    try:
        habits = msgspec.convert(learnt or {}, Habits)
    except msgspec.ValidationError:
        habits = _NOTHING
    endpoint = endpoint_of(target)
    return habits if habits.endpoint == endpoint else Habits(endpoint)


class Learning:
    """The habits of one target while several lanes find out about them. Safe for many threads."""

    def __init__(self, target: ForwardTarget, learnt: Learnt | None) -> None:
        self._lock = threading.Lock()
        self._habits = habits_of(target, learnt)
        self._accepted = 0
        """Bytes of the largest request that was taken."""

    @property
    def batches(self) -> bool | None:
        """Whether the target takes batches, as far as any lane knows."""
        return self._habits.batches

    @property
    def max_bytes(self) -> int | None:
        """What a request of several events may be large."""
        return self._habits.max_bytes

    @property
    def learnt(self) -> Learnt:
        """For the store; empty where nothing is known."""
        habits = self._habits
        is_known = habits.batches is not None or habits.max_bytes is not None
        found: Learnt = msgspec.to_builtins(habits) if is_known else {}
        return found

    def batch_taken(self, size: int) -> None:
        """A batch of so many bytes was taken: whatever was refused before, it was not for being a batch."""
        with self._lock:
            self._accepted = max(self._accepted, size)
            if self._habits.batches is not True:
                self._habits = msgspec.structs.replace(self._habits, batches=True)

    def batches_refused(self) -> None:
        """A batch was refused of which each event was taken by itself."""
        with self._lock:
            if self._habits.batches is None:
                self._habits = msgspec.structs.replace(self._habits, batches=False)

    def batches_doubted(self) -> None:
        """Batches were taken before, and are not now: the next one shows."""
        with self._lock:
            if self._habits.batches:
                self._habits = msgspec.structs.replace(self._habits, batches=None)

    def too_large(self, size: int) -> None:
        """A batch of so many bytes was too large: half of it may do, or what was taken before."""
        with self._lock:
            most = max(size // 2, self._accepted if self._accepted < size else 0, 1)
            if self._habits.max_bytes is None or most < self._habits.max_bytes:
                self._habits = msgspec.structs.replace(self._habits, max_bytes=most)
