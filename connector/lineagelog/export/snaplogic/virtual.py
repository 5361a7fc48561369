"""Names of SnapLogic's virtual datasets (what flows between two Snaps): writing and recognising them.

SnapLogic's mapping page documents `<label>: <snap id>`; the events it really sends say
`VIRTUAL_DB.VIRTUAL_SCHEMA.<label>:<first five characters of the snap id>` (case varies). Labels may contain
colons, so the id is what stands after the last one. Documents of an error view get ` (<view>)` after the name
(ours).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

NAMESPACE = "SnapLogic"

_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_ERROR_VIEW = r"(?: \((?P<view>[^()]*)\))?"
_SHORT = re.compile(
    rf"virtual_db\.virtual_schema\.(?P<label>.*?) ?: ?(?P<id>[0-9a-f]{{5}}|{_UUID}){_ERROR_VIEW}",
    re.IGNORECASE | re.DOTALL,
)
_LONG = re.compile(rf"(?P<label>.*?) ?: ?(?P<id>{_UUID}){_ERROR_VIEW}", re.IGNORECASE | re.DOTALL)


class VirtualNames(StrEnum):
    """How virtual datasets are named: as documented, or as SnapLogic's own events do it."""

    DOCUMENTED = "documented"
    SNAPLOGIC = "snaplogic"


@dataclass(frozen=True, slots=True)
class VirtualDataset:
    """A recognised virtual dataset: the Snap's label, its id (or the first five characters of it), the error
    view if it is one."""

    label: str
    snap_id: str
    error_view: str = ""


def virtual_name(label: str, snap_id: str, error_view: str = "", names: VirtualNames = VirtualNames.DOCUMENTED) -> str:
    """The dataset name for the documents that a Snap puts out (on its error view `error_view`, if given)."""
    if names is VirtualNames.SNAPLOGIC:
        name = f"VIRTUAL_DB.VIRTUAL_SCHEMA.{label}:{snap_id[:5]}"
    else:
        name = f"{label}: {snap_id}"
    return f"{name} ({error_view})" if error_view else name


def virtual_dataset(namespace: str, name: str) -> VirtualDataset | None:
    """The virtual dataset that (`namespace`, `name`) stands for, in either form; None for every other
    dataset."""
    if namespace.lower() != NAMESPACE.lower():
        return None
    match = _SHORT.fullmatch(name) or _LONG.fullmatch(name)
    if match is None:
        return None
    return VirtualDataset(match["label"], match["id"].lower(), match["view"] or "")
