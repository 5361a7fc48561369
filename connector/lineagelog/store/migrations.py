"""What an older store lacks besides new tables: one step per version of the tables, as SQL that does nothing twice.

New tables, columns of new tables and indexes need no step: the DDL makes what is missing. A step is for the rest: what
must change in tables that are there, and rights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from . import tables
from .blocks import do_block

type Qualified = Callable[[str], str]
"""A table's name in SQL, qualified and quoted (`LogStoreSchema.table`)."""


@dataclass(frozen=True, slots=True)
class Step:
    """From the version before to ``version``; ``statements`` are PL/pgSQL statements without the last semicolon."""

    version: int
    what: str
    statements: Callable[[Qualified], tuple[str, ...]]


def statements(table: Qualified) -> list[str]:
    """A statement per step, in order; each does nothing in a store that has its version, and waits for one at work."""
    return [_guarded(table, step) for step in STEPS]


def _guarded(table: Qualified, step: Step) -> str:
    store = table(tables.STORE_TABLE)
    own = "".join(f"    {statement};\n" for statement in step.statements(table))
    return do_block(
        f"BEGIN -- to version {step.version}: {step.what}\n"
        f"  IF (SELECT version FROM {store} WHERE id = 1 FOR UPDATE) < {step.version} THEN\n"
        f"{own}"
        f"    UPDATE {store} SET version = {step.version} WHERE id = 1;\n"
        "  END IF;\n"
        "END",
        "migrate",
    )


def _same_rights(table: Qualified, like: str, new: str) -> str:
    """Give a new table the rights of one that is there: roles that were set up go on working after an upgrade."""
    literal, target = (table(name).replace("'", "''") for name in (like, new))
    return (
        "DECLARE given record; BEGIN\n"
        "      FOR given IN SELECT a.privilege_type AS privilege,\n"
        "          CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS role\n"
        f"        FROM pg_catalog.pg_class c, aclexplode(c.relacl) a WHERE c.oid = '{literal}'::regclass\n"
        "          AND a.grantee <> c.relowner AND a.privilege_type IN ('SELECT', 'INSERT', 'UPDATE')\n"
        f"      LOOP EXECUTE 'GRANT ' || given.privilege || ' ON {target} TO ' || given.role; END LOOP; END"
    )


def _kafka_offsets(table: Qualified) -> tuple[str, ...]:
    return (_same_rights(table, tables.DEAD_LETTER_TABLE, tables.KAFKA_OFFSET_TABLE),)


def _views(table: Qualified) -> tuple[str, ...]:
    return (f"ALTER TABLE {table(tables.STORE_TABLE)} ADD COLUMN IF NOT EXISTS views text",)


STEPS: Final = (Step(2, "offsets of Kafka partitions", _kafka_offsets), Step(3, "views", _views))
"""A later version is one more line."""
