"""What a classification is to hold, given what it holds already: the plan's second step. Pure.

Rules of Egeria's own services (lovelace-insights): other properties stay, ours are laid over them; of the run profile
the five numbers of intervals go when there are none any more; a data scope begins no later than it did and ends no
earlier; the typed counters of RunMetrics are the cataloguer's, and ours only where nobody has classified.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_INTERVALS: Final = ("meanRunInterval", "medianRunInterval", "minRunInterval", "maxRunInterval", "typicalRunInterval")

type Properties = Mapping[str, Any]


def run_metrics(existing: Properties | None, content: Properties) -> dict[str, Any]:
    """The properties of RunMetrics."""
    wished = content["additionalProperties"]
    if existing is None:
        return {**content.get("typed", {}), "additionalProperties": dict(wished)}
    kept = {name: value for name, value in _additional(existing).items() if name not in _INTERVALS}
    return {**existing, "additionalProperties": {**kept, **wished}}


def data_scope(existing: Properties | None, content: Properties) -> dict[str, Any]:
    """The properties of DataScope."""
    wished = content["additionalProperties"]
    before: Properties = existing or {}
    start, end = content.get("dataCollectionStartTime"), content.get("dataCollectionEndTime")
    if wished.get("writePattern") == "REPLACED":  # since then nothing older is in it
        begins = start or before.get("dataCollectionStartTime")
    else:
        begins = min(filter(None, (start, before.get("dataCollectionStartTime"))), default=None, key=_moment)
    ends = max(filter(None, (end, before.get("dataCollectionEndTime"))), default=None, key=_moment)
    times = {"dataCollectionStartTime": begins, "dataCollectionEndTime": ends}
    merged = {**before, **times, "additionalProperties": {**_additional(before), **wished}}
    return {name: value for name, value in merged.items() if value is not None}


def _additional(properties: Properties) -> Properties:
    return properties.get("additionalProperties") or {}


def _moment(text: str) -> str:
    """Times as Egeria writes them, `…Z` and `….000+00:00`, in one form that sorts."""
    return text.replace("+00:00", "").rstrip("Z").partition(".")[0]
