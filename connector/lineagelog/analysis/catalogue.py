"""All analyses by name: a further one is one more line here."""

from __future__ import annotations

from typing import Any, Final

from lineagelog.errors import InputError

from .analysis import Analysis
from .blast_radius import BlastRadius
from .column_lineage_drift import ColumnLineageDrift
from .lineage_drift import LineageDrift
from .schema_drift import SchemaDrift

ANALYSES: Final[dict[str, Analysis[Any]]] = {
    analysis.name: analysis for analysis in (LineageDrift(), ColumnLineageDrift(), SchemaDrift(), BlastRadius())
}


def analysis_named(name: str) -> Analysis[Any]:
    """The analysis of that name. Raises InputError that lists those there are."""
    try:
        return ANALYSES[name.replace("-", "_")]
    except KeyError:
        raise InputError(f"there is no analysis {name!r}; there are {', '.join(ANALYSES)}") from None
