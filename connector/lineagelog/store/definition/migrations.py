"""What an older store lacks besides new tables: one step per version of the tables, as SQL that does nothing twice.

New tables, columns of new tables and indexes need no step: the DDL makes what is missing. A step is for the rest: what
must change in tables that are there, and rights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from textwrap import indent
from typing import Final

from sqlalchemy import Column
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.schema import CreateColumn

from lineagelog.event import facts
from lineagelog.postgres.blocks import do_block

from . import tables
from .layout import laid_out

type Qualified = Callable[[str], str]
"""A table's name in SQL, qualified and quoted (`LogStoreSchema.table`)."""


@dataclass(frozen=True, slots=True)
class Step:
    """From the version before to ``version``; ``statements`` are PL/pgSQL statements without the last semicolon."""

    version: int
    what: str
    statements: Callable[[Qualified], tuple[str, ...]]
    is_last: bool = True
    """Whether the store has the version then; earlier steps of a version are transactions of their own before it."""


def statements(table: Qualified) -> list[str]:
    """A statement per step, in order; each does nothing in a store that has its version, and waits for one at work."""
    return [_guarded(table, step) for step in STEPS]


def _guarded(table: Qualified, step: Step) -> str:
    store = table(tables.STORE_TABLE)
    own = "".join(f"{indent(_readable(statement), '    ')};\n" for statement in step.statements(table))
    done = f"    UPDATE {store} SET version = {step.version} WHERE id = 1;\n" if step.is_last else ""
    return do_block(
        f"BEGIN -- to version {step.version}: {step.what}\n"
        f"  IF (SELECT version FROM {store} WHERE id = 1 FOR UPDATE) < {step.version} THEN\n"
        f"{own}{done}"
        "  END IF;\n"
        "END",
        "migrate",
    )


def _readable(statement: str) -> str:
    """SQL laid out; blocks of PL/pgSQL are written as they are to be read."""
    return statement if statement.startswith(("DECLARE", "IF")) else laid_out(statement)


def same_rights(
    table: Qualified, like: str, new: str, privileges: tuple[str, ...] = ("SELECT", "INSERT", "UPDATE")
) -> str:
    """Give a new table the rights of one that is there: roles that were set up go on working after an upgrade."""
    given = ", ".join(f"'{privilege}'" for privilege in privileges)
    literal, target = (table(name).replace("'", "''") for name in (like, new))
    return (
        "DECLARE given record; BEGIN\n"
        "  FOR given IN SELECT a.privilege_type AS privilege,\n"
        "      CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS role\n"
        f"    FROM pg_catalog.pg_class c, aclexplode(c.relacl) a WHERE c.oid = '{literal}'::regclass\n"
        f"      AND a.grantee <> c.relowner AND a.privilege_type IN ({given})\n"
        f"  LOOP EXECUTE 'GRANT ' || given.privilege || ' ON {target} TO ' || given.role; END LOOP; END"
    )


def _kafka_offsets(table: Qualified) -> tuple[str, ...]:
    return (same_rights(table, tables.DEAD_LETTER_TABLE, tables.KAFKA_OFFSET_TABLE),)


def _outbox(table: Qualified) -> tuple[str, ...]:
    rights = ("SELECT", "INSERT", "UPDATE", "DELETE")
    return (same_rights(table, tables.FORWARD_CURSOR_TABLE, tables.PUBLICATION_TABLE, rights),)


def _findings(table: Qualified) -> tuple[str, ...]:
    """Who writes what is received may record; who reads runs may read what was found."""
    new = (tables.FINDING_TABLE, tables.RECORDING_TABLE)
    return tuple(same_rights(table, tables.RUN_TABLE, name) for name in new)


def _added(table: Qualified, name: str, *columns: str, described: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Columns for a table that is there, with their comments: a table that is described is not described again."""
    commented = [*(column.split()[0] for column in columns), *described]
    return (
        *(f"ALTER TABLE {table(name)} ADD COLUMN IF NOT EXISTS {column}" for column in columns),
        *_described(table, name, commented),
    )


def _unless_there(table: str, column: str, *statements: str) -> str:
    """Statements for a table that lacks a column, which the last of them brings."""
    literal, done = table.replace("'", "''"), "".join(f"{indent(laid_out(each), '  ')};\n" for each in statements)
    there = f"WHERE attrelid = '{literal}'::regclass AND attname = '{column}' AND NOT attisdropped"
    return f"IF NOT EXISTS (SELECT FROM pg_catalog.pg_attribute\n    {there}) THEN\n{done}END IF"


def _described(table: Qualified, name: str, columns: Iterable[str]) -> tuple[str, ...]:
    defined = tables.build("s").tables[f"s.{name}"].c
    comments = {each: (defined[each].comment or "").replace("'", "''") for each in columns}
    return tuple(
        f"COMMENT ON COLUMN {table(name)}.{each} IS '{comment}'" for each, comment in comments.items() if comment
    )


def _forwarding_and_views(table: Qualified) -> tuple[str, ...]:
    cursor = ("learnt JSONB", "gap BIGINT NOT NULL DEFAULT 0", "gap_before TIMESTAMP WITH TIME ZONE")
    return (
        *_added(table, tables.FORWARD_CURSOR_TABLE, *cursor, described=("arrival",)),
        *_added(table, tables.STORE_TABLE, "views TEXT"),
    )


def _outcomes(table: Qualified) -> tuple[str, ...]:
    """The last START and FAIL of runs, as far as their rows tell: `store rebuild` finds the others in the events."""
    run, time = table(tables.RUN_TABLE), sql_type(facts.Kind.TIME)
    changes = (
        f"ALTER COLUMN last_start_time TYPE {time} USING start_time",
        f"ALTER COLUMN last_fail_time TYPE {time} USING CASE WHEN status = 'FAIL' THEN end_time END",
        f"ADD COLUMN outcome {sql_type(facts.Kind.TEXT)} GENERATED ALWAYS AS ({tables.OUTCOME}) STORED",
    )
    return (
        *_added(table, tables.RUN_TABLE, f"last_start_time {time}", f"last_fail_time {time}"),
        _unless_there(run, "outcome", f"ALTER TABLE {run} {', '.join(changes)}"),  # writes the table anew, once
        *_described(table, tables.RUN_TABLE, ("outcome",)),
    )


def _jobs_of_datasets(table: Qualified) -> tuple[str, ...]:
    """The job of each row; jobs that share a run id have each what was said of it, until `store rebuild` tells."""
    name, run = table(tables.RUN_DATASET_TABLE), table(tables.RUN_TABLE)
    text = sql_type(facts.Kind.TEXT)
    job = ("r.run_key", "r.job_namespace", "r.job_name")
    names = ("d.run_id", *job[1:], "d.direction", "d.dataset_namespace", "d.dataset_name")
    own = ("run_dataset_key", "run_key", "job_namespace", "job_name")
    others = [each.name for each in tables.build("s").tables[f"s.{tables.RUN_DATASET_TABLE}"].c if each.name not in own]
    first = f"(SELECT min(f.run_key::text)::uuid FROM {run} f WHERE f.run_id = d.run_id)"
    copied = (
        f"INSERT INTO {name} ({', '.join((*own, *others))}) "
        f"SELECT {_key(*names)}, {', '.join((*job, *(f'd.{each}' for each in others)))} "
        f"FROM {name} d JOIN {run} r ON r.run_id = d.run_id AND r.run_key <> {first} WHERE d.run_key IS NULL "
        "ON CONFLICT DO NOTHING"
    )
    filled = ", ".join((f"run_dataset_key = {_key(*names)}", *(f"{each} = r.{each}" for each in own[1:])))
    return (
        *_added(table, tables.RUN_DATASET_TABLE, "run_key uuid", f"job_namespace {text}", f"job_name {text}"),
        copied,
        f"UPDATE {name} d SET {filled} FROM {run} r WHERE r.run_key = {first} AND d.run_key IS NULL",
        *_described(table, tables.RUN_DATASET_TABLE, ("run_dataset_key",)),
        f"COMMENT ON TABLE {name} IS '{tables.RUN_DATASET_ABOUT}'",
    )


def _key(*parts: str) -> str:
    """What `event.canonical.name_key` gives for the same texts."""
    prefixed = " || ".join(f"coalesce(octet_length({part}) || ':' || {part}, '-')" for part in parts)
    return f"encode(substr(sha256(convert_to({prefixed}, 'UTF8')), 1, 16), 'hex')::uuid"


def _results(name: str, of: tuple[str, ...], own: tuple[str, ...], table: Qualified) -> tuple[str, ...]:
    """What results are told apart by, as far as the rows tell."""
    text = sql_type(facts.Kind.TEXT)
    key = _key(*(f"{column}::text" for column in (*of[:-1], "occurrence")))
    columns = (
        *(f"{each} {text}" for each in ("expected", "actual", "params", *own)),
        "position integer",
        "skipped boolean",
    )
    filled = f"ALTER COLUMN position TYPE integer USING occurrence, ALTER COLUMN result_key TYPE uuid USING {key}"
    return (
        *_added(table, name, *columns),
        _unless_there(
            table(name),
            "result_key",
            f"ALTER TABLE {table(name)} ADD COLUMN result_key uuid",
            f"ALTER TABLE {table(name)} {filled}",
        ),
        *_described(table, name, ("result_key",)),
    )


def _entities(table: Qualified) -> tuple[str, ...]:
    """Jobs and datasets by their names, as far as the runs' rows tell: `store rebuild` finds the rest in the events.

    Who writes and reads runs may write and read them.
    """
    new = (tables.JOB_TABLE, tables.DATASET_TABLE, tables.DATASET_NAME_TABLE)
    privileges = ("SELECT", "INSERT", "UPDATE", "DELETE")
    job, dataset = table(tables.JOB_TABLE), table(tables.DATASET_TABLE)
    return (
        *(same_rights(table, tables.RUN_TABLE, name, privileges) for name in new),
        (
            f"INSERT INTO {job} (job_key, job_namespace, job_name, first_seen, last_seen) "
            "SELECT job_key, min(job_namespace), min(job_name), min(first_event_time), max(last_event_time) "
            f"FROM {table(tables.RUN_TABLE)} GROUP BY job_key ORDER BY job_key ON CONFLICT DO NOTHING"
        ),
        (
            f"INSERT INTO {dataset} (dataset_key, dataset_namespace, dataset_name, first_seen, last_seen) "
            "SELECT dataset_key, min(dataset_namespace), min(dataset_name), min(event_time), max(event_time) "
            f"FROM {table(tables.RUN_DATASET_TABLE)} GROUP BY dataset_key ORDER BY dataset_key ON CONFLICT DO NOTHING"
        ),
    )


def _uses_of_tokens(table: Qualified) -> tuple[str, ...]:
    return _added(table, tables.TOKEN_TABLE, "last_used_at TIMESTAMP WITH TIME ZONE")


def _analysis_cursors(table: Qualified) -> tuple[str, ...]:
    return (same_rights(table, tables.DEAD_LETTER_TABLE, tables.ANALYSIS_CURSOR_TABLE),)


_FACTS: Final = {
    tables.RUN_TABLE: facts.RUN,
    tables.RUN_DATASET_TABLE: facts.DATASET,
    tables.JOB_TABLE: facts.JOB_ENTITY,
    tables.DATASET_TABLE: facts.DATASET_ENTITY,
}
_MADE: Final = {tables.JOB_TABLE: 4, tables.DATASET_TABLE: 4}
"""The version that brought a table, with its columns."""
_FACTS_DESCRIBED: Final = 3
"""The version from which on the columns of facts have comments."""


def _with_facts(version: int, own: tuple[Step, ...]) -> Iterator[Step]:
    """The steps of a version: the columns of its facts, one table at a time, so that no two locks are held; its own."""
    new = {
        name: [r for r in registers if r.since == version > _MADE.get(name, 1)] for name, registers in _FACTS.items()
    }
    for name, registers in new.items():
        if registers:
            yield Step(version, f"facts of {name}", partial(_facts_added, name, registers), is_last=False)
        if version == _FACTS_DESCRIBED and name not in _MADE:
            old = [fact.name for r in _FACTS[name] if r.since < version for fact in r.columns]
            yield Step(version, f"comments of {name}", partial(_described, name=name, columns=old), is_last=False)
    brought = f"facts: {', '.join(r.name for found in new.values() for r in found)}"
    steps = own or (Step(version, brought, lambda _: ()),)
    yield from (replace(step, is_last=False) for step in steps[:-1])
    yield steps[-1]


def _facts_added(name: str, registers: list[facts.Register], table: Qualified) -> tuple[str, ...]:
    columns = [f"{fact.name} {sql_type(fact.kind)}" for register in registers for fact in register.columns]
    return _added(table, name, *columns)


def sql_type(kind: facts.Kind) -> str:
    """A kind's type in DDL, with the collation of names."""
    return str(CreateColumn(Column("x", tables.TYPES[kind])).compile(dialect=PGDialect_psycopg())).partition(" ")[2]  # type: ignore[no-untyped-call]


_OWN: Final = {
    2: (Step(2, "offsets of Kafka partitions", _kafka_offsets),),
    3: (
        Step(
            3,
            "what forwarding has learnt of a target, what a purge took before it was sent, views",
            _forwarding_and_views,
        ),
    ),
    4: (
        Step(4, "how far analyses have read the events", _analysis_cursors),
        Step(4, "when tokens were used", _uses_of_tokens),
        Step(4, "jobs, datasets and their names", _entities),
        Step(4, "outcomes of runs", _outcomes),
        Step(4, "jobs of the datasets of runs", _jobs_of_datasets),
        Step(4, "results of assertions", partial(_results, tables.ASSERTION_TABLE, tables.ASSERTION_RESULT, ("side",))),
        Step(4, "results of tests", partial(_results, tables.TEST_TABLE, tables.TEST_RESULT, ())),
        Step(4, "the outbox of publishing", _outbox),
        Step(4, "what was found", _findings),
    ),
}
"""A later version is one more line, unless it only brings facts (`Register.since`); a step locks one table at most."""

STEPS: Final = tuple(step for v in range(2, tables.VERSION + 1) for step in _with_facts(v, _OWN.get(v, ())))
