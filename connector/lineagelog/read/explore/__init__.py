"""What people look at: executions with their attempts, trends, one job or dataset in full, lineage, search."""

from .explorer import Explorer
from .lineage import Lineages

__all__ = ["Explorer", "Lineages"]
