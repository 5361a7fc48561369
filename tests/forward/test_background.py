"""Several targets at once, in the background of a program."""

from __future__ import annotations

from pathlib import Path

from lineagelog.forward import Background, open_sender
from lineagelog.store import LogStore
from lineagelog.store.ledgers.forwarding import Forwarding
from tests.support import PATIENCE, wait_until

from .conftest import event, quick_target, store_all
from .receiver import receiving


def test_targets_are_followed_or_forwarded_to_at_intervals(
    log: LogStore, forwarding: Forwarding, tmp_path: Path
) -> None:
    """One that cannot be used does not hold up the others; all end when told to."""
    (tmp_path / "folder").mkdir()
    with receiving() as receiver:
        targets = [
            quick_target(receiver.url, name="followed"),
            quick_target(str(tmp_path / "f.ndjson"), name="at_intervals", interval=0.05),
            quick_target(str(tmp_path / "folder"), name="unusable"),
        ]
        background = Background(forwarding, targets, open_sender)
        background.start()
        for number in range(3):
            store_all(log, [event(number)])
            wait_until(lambda number=number: [each.delivered for each in background.sent][:2] == [number + 1] * 2)  # type: ignore[misc]
        assert background.stop(PATIENCE)
    assert len(receiver.stored) == 3
    assert len((tmp_path / "f.ndjson").read_bytes().splitlines()) == 3
    assert background.sent[2].delivered == 0
