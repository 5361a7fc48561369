"""The log store in PostgreSQL: its definition, its writer, and its upkeep."""

from .dead_letters import DeadLetterRow, DeadLetters, Filter, Retried
from .engine import open_engine
from .log import Appended, InTransaction, LogStore, Verdict
from .purge import Purged, purge
from .schema import LogStoreSchema
from .statistics import gather_statistics
from .tokens import Grant, Scope, Token, Tokens
from .verify import Checked, Difference, Verifier

__all__ = [
    "Appended",
    "Checked",
    "DeadLetterRow",
    "DeadLetters",
    "Difference",
    "Filter",
    "Grant",
    "InTransaction",
    "LogStore",
    "LogStoreSchema",
    "Purged",
    "Retried",
    "Scope",
    "Token",
    "Tokens",
    "Verdict",
    "Verifier",
    "gather_statistics",
    "open_engine",
    "purge",
]
