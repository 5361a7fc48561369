"""Where the schemas of a run's datasets come from: any object with ``get_table_schema(table)``, and ready ones.

The ready ones: `SqlAlchemySchemas`, `DbApiSchemas`, `FrameSchemas`, `FileSchemas`. An engine, a connection, a data
frame or a path given as ``connector=`` is wrapped in the right one. The libraries behind them are imported only when
needed.
"""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from .facets import complete_facet, schema_fields
from .guard import describe, guarded, warn_once

if TYPE_CHECKING:
    from .datasets import Datasets


@runtime_checkable
class Connector(Protocol):
    """What ``connector=`` needs."""

    def get_table_schema(self, table: str) -> Any:
        """The columns of a table: pairs (name, type), dicts with name and type, or a mapping; nothing if unknown."""


class SqlAlchemySchemas:
    """Schemas by SQLAlchemy's inspection of an engine or a connection.

    A connection outside a transaction is left outside of one.
    """

    def __init__(self, bind: Any, schema: str | None = None) -> None:
        """``bind``: an Engine or a Connection. ``schema``: where names without one are looked up."""
        self._bind = bind.get_bind() if hasattr(bind, "get_bind") else bind  # a Session
        self._schema = schema

    def get_table_schema(self, table: str) -> list[tuple[str, str]]:
        """The columns of a table or view, ``table`` or ``schema.table``. Raises SQLAlchemy's errors."""
        import sqlalchemy

        in_transaction = getattr(self._bind, "in_transaction", None)
        idle = callable(in_transaction) and not in_transaction()
        try:
            inspector = sqlalchemy.inspect(self._bind)
            schema, _, name = table.rpartition(".")
            columns = inspector.get_columns(name, schema=schema.rpartition(".")[2] or self._schema)
            return [(column["name"], str(column["type"])) for column in columns]
        finally:
            if idle:
                self._bind.rollback()


class DbApiSchemas:
    """Schemas by a DB-API 2 connection, with statements that do not fail for a missing table.

    (A failed statement would spoil the job's own transaction in PostgreSQL and DuckDB.) A connection that was idle is
    left idle, where the driver can tell.
    """

    def __init__(self, connection: Any) -> None:
        """``connection``: of sqlite3, psycopg, psycopg2, pg8000, duckdb, a MySQL driver, or another."""
        self._connection = connection
        self._driver = type(connection).__module__.split(".")[0].lstrip("_")

    def get_table_schema(self, table: str) -> list[tuple[str, str]]:
        """The columns of ``table`` or ``schema.table``; [] if there is no such table. Raises the driver's errors."""
        idle = self._is_idle()
        cursor = self._connection.cursor()
        try:
            if self._driver == "sqlite3":
                return self._of_sqlite(cursor, table)
            if self._driver in ("psycopg", "psycopg2", "pg8000"):
                return self._of_postgres(cursor, table)
            if self._driver == "duckdb" or "mysql" in self._driver.lower():
                return self._of_information_schema(cursor, table)
            return self._of_description(cursor, table)
        finally:
            cursor.close()
            if idle:
                self._connection.rollback()

    def _is_idle(self) -> bool:
        """Whether no transaction is open, so that one that our look-up opens is ours to end."""
        if self._driver == "psycopg":
            return int(self._connection.info.transaction_status) == 0 and not self._connection.autocommit
        if self._driver == "psycopg2":
            return int(self._connection.get_transaction_status()) == 0 and not self._connection.autocommit
        return False

    def _of_sqlite(self, cursor: Any, table: str) -> list[tuple[str, str]]:
        schema, _, name = table.rpartition(".")
        cursor.execute("SELECT name, type FROM pragma_table_info(?, ?)", (name, schema or None))
        return _pairs(cursor.fetchall())

    def _of_postgres(self, cursor: Any, table: str) -> list[tuple[str, str]]:
        """By `to_regclass`, which gives NULL for a missing table: the name as it is written, else in lower case."""
        quoted = ".".join('"' + part.replace('"', '""') + '"' for part in table.split("."))
        cursor.execute(
            "SELECT attname, format_type(atttypid, atttypmod) FROM pg_catalog.pg_attribute "
            "WHERE attrelid = coalesce(to_regclass(%s), to_regclass(%s)) AND attnum > 0 AND NOT attisdropped "
            "ORDER BY attnum",
            (quoted, quoted.lower()),
        )
        return _pairs(cursor.fetchall())

    def _of_information_schema(self, cursor: Any, table: str) -> list[tuple[str, str]]:
        schema, _, name = table.rpartition(".")
        mark = "?" if self._driver == "duckdb" else "%s"
        current = "current_schema()" if self._driver == "duckdb" else "database()"
        cursor.execute(
            "SELECT column_name, data_type FROM information_schema.columns "
            f"WHERE table_name = {mark} AND table_schema = coalesce({mark}, {current}) ORDER BY ordinal_position",
            (name, schema or None),
        )
        return _pairs(cursor.fetchall())

    def _of_description(self, cursor: Any, table: str) -> list[tuple[str, str]]:
        """What a query without rows says of its columns; types are the driver's own words."""
        quoted = ".".join('"' + part.replace('"', '""') + '"' for part in table.split("."))
        cursor.execute(f"SELECT * FROM {quoted} WHERE 1 = 0")
        return [(str(column[0]), getattr(column[1], "__name__", str(column[1]))) for column in cursor.description]


class FrameSchemas:
    """The schema of a data frame or table: pandas, polars, Arrow or PySpark, known by what it can do."""

    def __init__(self, frame: Any) -> None:
        """``frame``: of pandas, polars, pyarrow or pyspark."""
        self._frame = frame

    def get_table_schema(self, table: str) -> list[Any]:  # noqa: ARG002 - a frame is one table
        """The columns and their types, in the library's own words."""
        return frame_fields(self._frame)


class FileSchemas:
    """The schema of a Parquet, CSV or TSV file, of the files of a folder by their names, or of a folder of parts."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """``path``: a file, or a folder in which ``table`` (with or without suffix) is looked up."""
        self._path = Path(path)

    def get_table_schema(self, table: str) -> list[Any]:
        """The columns and types (CSV has none). Raises OSError, ValueError, or ImportError without pyarrow."""
        return file_fields(self._find(table))

    def _find(self, table: str) -> Path:
        if not self._path.is_dir():
            return self._path
        places = [self._path / f"{table}{suffix}" for suffix in ("", ".parquet", ".csv", ".tsv")]
        found = next((place for place in places if place.exists()), None)
        if found is None and not _is_dataset(self._path):
            raise FileNotFoundError(f"{self._path} holds no file of the name {table}")
        return found or self._path


def _is_dataset(folder: Path) -> bool:
    """Whether a folder is one table in parts, as Spark, pandas and their like write it."""
    return (folder / "_SUCCESS").exists() or any(next(folder.glob(p), None) for p in ("part-*", "*=*"))


def frame_fields(frame: Any) -> list[Any]:
    """The columns of a frame. Raises TypeError if it is none that is known."""
    if _is_from(frame, "pyspark"):
        return [{"name": name, "type": kind} for name, kind in frame.dtypes]
    schema = frame.schema if hasattr(frame, "schema") else None
    if schema is not None and callable(getattr(schema, "items", None)):  # polars
        return [(name, str(kind)) for name, kind in schema.items()]
    if schema is not None and hasattr(schema, "names") and hasattr(schema, "types"):  # pyarrow
        return [(name, str(kind)) for name, kind in zip(schema.names, schema.types, strict=True)]
    dtypes = getattr(frame, "dtypes", None)
    if dtypes is not None and callable(getattr(dtypes, "items", None)):  # pandas
        return [(str(name), str(kind)) for name, kind in dtypes.items()]
    raise TypeError(f"{type(frame).__name__} is no data frame that is known")


def file_fields(path: Path) -> list[Any]:
    """The columns of a file; a folder is a Parquet dataset, and its first file speaks for all."""
    if path.is_dir():
        parts = sorted(path.rglob("*.parquet"))
        if not parts:
            raise FileNotFoundError(f"{path} holds no Parquet file")
        path = parts[0]
    if path.suffix.lower() in (".csv", ".tsv"):
        with path.open(encoding="utf-8-sig", newline="") as file:
            head = next(csv.reader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ","), [])
            return [name for name in head if name]
    import pyarrow.parquet

    schema = pyarrow.parquet.read_schema(path)
    return [(name, str(kind)) for name, kind in zip(schema.names, schema.types, strict=True)]


def _is_from(value: Any, *packages: str) -> bool:
    """Whether a class of the value's comes from one of the packages; imports nothing."""
    return any(base.__module__.split(".")[0] in packages for base in type(value).__mro__)


def _pairs(rows: Any) -> list[tuple[str, str]]:
    return [(str(name), str(kind)) for name, kind in rows]


def as_connector(given: Any) -> Connector:
    """The connector that a value is or stands for. Raises TypeError if it is none that is known."""
    if isinstance(given, Connector):
        return given
    if _is_from(given, "sqlalchemy"):
        return SqlAlchemySchemas(given)
    if isinstance(given, (str, os.PathLike)):
        return FileSchemas(given)
    if _is_frame(given):
        return FrameSchemas(given)
    if callable(getattr(given, "cursor", None)) and callable(getattr(given, "commit", None)):
        return DbApiSchemas(given)
    raise TypeError(f"{type(given).__name__} is no connector: it has no get_table_schema(table)")


def _is_frame(value: Any) -> bool:
    return _is_from(value, "pandas", "polars", "pyarrow") or (_is_from(value, "pyspark") and hasattr(value, "dtypes"))


# --- the end of a run -----------------------------------------------------------------------------------------------


@guarded("looking up schemas", None)
def add_schemas(connector: Any, inputs: Datasets, outputs: Datasets, timeout: float) -> None:
    """Give each dataset that has no schema facet the schema that its connector tells. Never raises.

    ``connector``: one for all, or a dict from the database prefix (what stands before the first ``/``) or the whole
    name to one. It is asked for the name after the first ``/``. A frame or a file given alone is one table: it
    describes the outputs, or the inputs if there are none. A look-up that fails leaves its dataset as it is; after
    ``timeout`` seconds no further one is begun.
    """
    deadline = time.monotonic() + timeout
    datasets = [*inputs, *outputs]
    if _is_frame(connector) or (isinstance(connector, (str, os.PathLike)) and not Path(connector).is_dir()):
        datasets = list(outputs) or list(inputs)
    known: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for dataset in datasets:
        if "schema" in dataset["facets"] or (found := _route(connector, dataset["name"])) is None:
            continue
        if time.monotonic() > deadline:
            warn_once("lineage: looking up schemas takes too long, the rest is left out")
            return
        one, table = found
        if (id(one), table) not in known:
            known[id(one), table] = _look_up(one, table)
        if fields := known[id(one), table]:
            dataset["facets"]["schema"] = complete_facet("schema", {"fields": fields}, "Dataset")


def _route(connector: Any, name: str) -> tuple[Any, str] | None:
    """The connector for a dataset and the table to ask it for."""
    prefix, slash, rest = name.partition("/")
    table = rest if slash else name
    if isinstance(connector, Connector) or not isinstance(connector, Mapping):
        return connector, table
    if name in connector:
        return connector[name], table
    return (connector[prefix], table) if slash and prefix in connector else None


def _look_up(connector: Any, table: str) -> list[dict[str, Any]]:
    try:
        found = as_connector(connector).get_table_schema(table)
        return schema_fields(found) if found is not None else []
    except Exception as problem:
        warn_once(f"lineage: the schema of {table!r} cannot be looked up: {describe(problem)}")
        return []
