"""How the log spells run ids: as sent, but UUIDs in lower case, so that one run is one run."""

from __future__ import annotations

import re
from typing import Final

MAX_RUN_ID: Final = 512
"""Bytes."""
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def stored_run_id(run_id: str) -> str:
    """As the store has it; a text that cannot be stored is given as what it becomes."""
    if len(run_id) == 36 and _UUID.fullmatch(run_id):
        return run_id.lower()
    return run_id.replace("\0", "\ufffd")
