"""The log store in PostgreSQL: its definition, its writer, and its upkeep."""

from .engine import masked, open_engine
from .log import Appended, InTransaction, LogStore, Verdict
from .schema import LogStoreSchema
from .verify import Checked, Difference, Verifier

__all__ = [
    "Appended",
    "Checked",
    "Difference",
    "InTransaction",
    "LogStore",
    "LogStoreSchema",
    "Verdict",
    "Verifier",
    "masked",
    "open_engine",
]
