"""What an older store lacks besides new tables: one step per version of the tables, as SQL that does nothing twice.

New tables, columns of new tables and indexes need no step: the DDL makes what is missing. A step is for the rest: what
must change in tables that are there, and rights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from lineagelog.postgres.blocks import do_block

from . import tables

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


def same_rights(
    table: Qualified, like: str, new: str, privileges: tuple[str, ...] = ("SELECT", "INSERT", "UPDATE")
) -> str:
    """Give a new table the rights of one that is there: roles that were set up go on working after an upgrade."""
    given = ", ".join(f"'{privilege}'" for privilege in privileges)
    literal, target = (table(name).replace("'", "''") for name in (like, new))
    return (
        "DECLARE given record; BEGIN\n"
        "      FOR given IN SELECT a.privilege_type AS privilege,\n"
        "          CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS role\n"
        f"        FROM pg_catalog.pg_class c, aclexplode(c.relacl) a WHERE c.oid = '{literal}'::regclass\n"
        f"          AND a.grantee <> c.relowner AND a.privilege_type IN ({given})\n"
        f"      LOOP EXECUTE 'GRANT ' || given.privilege || ' ON {target} TO ' || given.role; END LOOP; END"
    )


def _kafka_offsets(table: Qualified) -> tuple[str, ...]:
    return (same_rights(table, tables.DEAD_LETTER_TABLE, tables.KAFKA_OFFSET_TABLE),)


def _added(table: Qualified, name: str, *columns: str, described: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Columns for a table that is there, with their comments: a table that is described is not described again."""
    defined = tables.build("s").tables[f"s.{name}"].c
    commented = [*(column.split()[0] for column in columns), *described]
    return (
        *(f"ALTER TABLE {table(name)} ADD COLUMN IF NOT EXISTS {column}" for column in columns),
        *(f"COMMENT ON COLUMN {table(name)}.{each} IS '{defined[each].comment}'" for each in commented),
    )


def _forwarding_and_views(table: Qualified) -> tuple[str, ...]:
    cursor = ("learnt JSONB", "gap BIGINT NOT NULL DEFAULT 0", "gap_before TIMESTAMP WITH TIME ZONE")
    return (
        *_added(table, tables.FORWARD_CURSOR_TABLE, *cursor, described=("arrival",)),
        *_added(table, tables.STORE_TABLE, "views TEXT"),
    )


STEPS: Final = (
    Step(2, "offsets of Kafka partitions", _kafka_offsets),
    Step(
        3, "what forwarding has learnt of a target, what a purge took before it was sent, views", _forwarding_and_views
    ),
)
"""A later version is one more line."""
