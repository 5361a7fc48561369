"""Statements that are known to read and write no table, so that nothing has to be said of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sqlglot import exp

_EXPRESSIONS: Final = frozenset(
    {"Grant", "Revoke", "Set", "Use", "Transaction", "Commit", "Rollback", "Comment", "Describe", "Show", "Pragma"}
    | {"Analyze", "Declare", "Kill", "Semicolon", "Uncache", "EndStatement", "Attach", "Detach", "Return", "Install"}
)
_COMMANDS: Final = frozenset(
    {"GRANT", "REVOKE", "DENY", "SHOW", "VACUUM", "ANALYZE", "BEGIN", "START", "COMMIT", "ROLLBACK", "SAVEPOINT"}
    | {"RELEASE", "END", "LOCK", "UNLOCK", "PRINT", "DECLARE", "CHECKPOINT", "DISCARD", "RESET", "LISTEN", "NOTIFY"}
    | {"UNLISTEN", "OPTIMIZE", "MSCK", "REINDEX", "CLUSTER", "ATTACH", "DETACH", "INSTALL", "LOAD", "PRAGMA", "SET"}
    | {"UNSET", "USE", "DESCRIBE", "DESC", "EXPLAIN", "HELP", "FLUSH", "KILL", "LIST", "LS", "ADD", "RAISE", "RETURN"}
    | {"CLOSE", "DEALLOCATE", "GO"}
)
_MADE_TO_RUN: Final = frozenset({"PROCEDURE", "FUNCTION", "TRIGGER", "STREAM", "TASK"})


def moves_no_data(parsed: exp.Expr) -> bool:
    """Whether a statement is known to read and write no table."""
    from sqlglot import exp

    if isinstance(parsed, exp.Command):
        words = f"{parsed.this} {parsed.expression or ''}".upper().split()
        return words[0] in _COMMANDS or (words[0] == "ALTER" and words[1:2] != ["TABLE"])
    kind = str(parsed.args.get("kind") or "").upper()
    if isinstance(parsed, exp.Create):
        return kind not in {"TABLE", "VIEW", *_MADE_TO_RUN} and not isinstance(parsed.expression, exp.Query)
    if isinstance(parsed, (exp.Drop, exp.Alter)):
        return kind not in ("TABLE", "VIEW")
    return type(parsed).__name__ in _EXPRESSIONS or (
        isinstance(parsed, exp.Query) and parsed.find(exp.Table) is None and not parsed.args.get("into")
    )
