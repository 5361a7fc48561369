"""The log store in PostgreSQL: its definition, its writer, and its upkeep."""

from lineagelog.postgres.database import Database
from lineagelog.postgres.engine import open_engine
from lineagelog.store.append.log import Appended, InTransaction, LogStore, Verdict
from lineagelog.store.definition.schema import LogStoreSchema
from lineagelog.store.ledgers.dead_letters import DeadLetterRow, DeadLetters, Filter, Retried
from lineagelog.store.ledgers.tokens import Grant, Scope, Token, Tokens
from lineagelog.store.upkeep.purge import Purged, purge
from lineagelog.store.upkeep.statistics import gather_statistics
from lineagelog.store.upkeep.verify import Checked, Difference, Verifier

__all__ = [
    "Appended",
    "Checked",
    "Database",
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
