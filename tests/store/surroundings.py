"""Databases that bring what is not ours: things named like PostgreSQL's own that are wrong, and other settings."""

from __future__ import annotations

from typing import Any

from tests.support import connect

FUNCTIONS = {
    "array_position(anycompatiblearray, anycompatible)": ("int", "1"),
    "array_position(text[], text)": ("int", "1"),
    "now()": ("timestamptz", "'1999-01-01'::timestamptz"),
    "clock_timestamp()": ("timestamptz", "'1999-01-01'::timestamptz"),
    "date_trunc(text, timestamp)": ("timestamp", "'1999-01-01'::timestamp"),
    "timezone(text, timestamptz)": ("timestamp", "'1999-01-01'::timestamp"),
    "sha256(bytea)": ("bytea", "'\\x00'::bytea"),
    "encode(bytea, text)": ("text", "'00'"),
    "convert_to(text, name)": ("bytea", "'\\x00'::bytea"),
    "convert_to(text, text)": ("bytea", "'\\x00'::bytea"),
    "octet_length(text)": ("int", "0"),
    "length(bytea)": ("int", "0"),
    "lower(text)": ("text", "'?'"),
    "cardinality(text[])": ("int", "7"),
    "pg_backend_pid()": ("int", "0"),
    "pg_current_xact_id()": ("xid8", "'7'::xid8"),
    "pg_advisory_xact_lock(bigint)": ("text", "'?'"),
    "pg_advisory_xact_lock_shared(bigint)": ("text", "'?'"),
    "pg_try_advisory_lock(bigint)": ("bool", "false"),
    "set_config(text, text, boolean)": ("text", "'?'"),
    "age(xid)": ("int", "0"),
    "obj_description(oid, name)": ("text", "NULL::text"),
}
OPERATORS = (
    ("=", "text"),
    ("<>", "text"),
    ("~~", "text"),
    ("=", "uuid"),
    ("=", "name"),
    ("<", "timestamptz"),
    (">=", "timestamptz"),
    (">", "timestamptz"),
    ("<>", "int"),
)
TYPES = ("uuid", "jsonb", "text", "bytea", "xid8")
RELATIONS = ("pg_class", "pg_namespace", "pg_inherits", "pg_settings", "pg_attribute", "ol_run", "ol_run_dataset")
SETTINGS = {
    "TimeZone": "'Asia/Kathmandu'",
    "DateStyle": "'SQL, DMY'",
    "IntervalStyle": "'sql_standard'",
    "bytea_output": "'escape'",
    "extra_float_digits": "-15",
    "standard_conforming_strings": "off",
    "backslash_quote": "on",
    "array_nulls": "off",
    "transform_null_equals": "on",
    "quote_all_identifiers": "on",
    "default_transaction_isolation": "'serializable'",
    "default_transaction_deferrable": "on",
    "session_replication_role": "'replica'",
    "row_security": "off",
    "statement_timeout": "'10min'",
    "lc_numeric": "'C'",
    "lc_monetary": "'C'",
    "lc_time": "'C'",
}
_AS_IT_IS = {
    "search_path": "pg_catalog",
    "standard_conforming_strings": "on",
    "quote_all_identifiers": "off",
    "default_transaction_isolation": "read\\ committed",
    "timezone": "UTC",
    "datestyle": "ISO",
    "intervalstyle": "postgres",
    "bytea_output": "hex",
}


def admin(url: str) -> Any:
    """A connection that looks at things as they are."""
    return connect(url, options=" ".join(f"-c {name}={value}" for name, value in _AS_IT_IS.items()))


def hide(url: str, schema: str) -> None:
    """Make things in a schema that look like PostgreSQL's own and are wrong."""
    with admin(url) as connection:

        def execute(statement: str) -> None:
            connection.execute(statement.encode())

        execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        for signature, (result, value) in FUNCTIONS.items():
            execute(f"CREATE FUNCTION {schema}.{signature} RETURNS {result} LANGUAGE sql AS $$ SELECT {value} $$")
        for number, (operator, kind) in enumerate(OPERATORS):
            execute(
                f"CREATE FUNCTION {schema}.never_{number}({kind}, {kind}) RETURNS bool LANGUAGE sql AS 'SELECT false'"
            )
            execute(
                f"CREATE OPERATOR {schema}.{operator} "
                f"(LEFTARG = {kind}, RIGHTARG = {kind}, FUNCTION = {schema}.never_{number})"
            )
        for relation in RELATIONS:
            execute(f"CREATE TABLE {schema}.{relation} (nothing int)")
        for kind in TYPES:
            execute(f"CREATE DOMAIN {schema}.{kind} AS varchar CHECK (false)")


def first_on_the_path(url: str) -> None:
    """A schema that the database's search_path has before pg_catalog."""
    hide(url, "evil")
    with admin(url) as connection:
        name = connection.info.dbname
        connection.execute(f'ALTER DATABASE "{name}" SET search_path = evil, pg_catalog, public'.encode())


def overloads_in_public(url: str) -> None:
    """Functions and operators in public that fit better than PostgreSQL's; search_path is as always."""
    hide(url, "public")


def settings_of_the_database(url: str) -> None:
    """Settings that change what texts mean, and how transactions see each other."""
    with admin(url) as connection:
        name = connection.info.dbname
        for setting, value in SETTINGS.items():
            connection.execute(f'ALTER DATABASE "{name}" SET {setting} = {value}'.encode())


SURROUNDINGS = (first_on_the_path, overloads_in_public, settings_of_the_database)
