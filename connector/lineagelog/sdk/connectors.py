"""Where the schemas of a run's datasets come from: any object with ``get_table_schema(table)``, and ready ones.

The ready ones: `SqlAlchemySchemas`, `DbApiSchemas`, `FrameSchemas`, `FileSchemas`. An engine, a connection, a data
frame or a path given as ``connector=`` is wrapped in the right one. The libraries behind them are imported only when
needed.
"""

from __future__ import annotations

import contextlib
import csv
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from lineagelog.sdk.lookups.databases import DEFAULT_SECONDS, DbApiSchemas, SqlAlchemySchemas, is_pool_proxy, within
from lineagelog.sdk.lookups.unwrapping import LeftAloneError
from lineagelog.shown import mask_text

from .facets import complete_facet, schema_fields
from .guard import describe, guarded, log, warn_once

if TYPE_CHECKING:
    from .datasets import Datasets


@runtime_checkable
class SchemaConnector(Protocol):
    """What ``connector=`` needs."""

    def get_table_schema(self, table: str) -> Any:
        """The columns of a table: pairs (name, type), dicts with name and type, or a mapping; nothing if unknown."""


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
        return self.look_up(table, DEFAULT_SECONDS)

    def look_up(self, table: str, seconds: float) -> list[Any]:
        """The same within so many seconds: a share of the network may hang."""
        return within(seconds, lambda: file_fields(self._find(table)))

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


def as_connector(given: Any) -> SchemaConnector:
    """The connector that a value is or stands for. Raises TypeError if it is none that is known."""
    if isinstance(given, SchemaConnector):
        return given
    if _is_from(inner := getattr(given, "__wrapped__", None), "sqlalchemy"):
        given = inner
    if _is_from(given, "sqlalchemy") and not is_pool_proxy(given):
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
    describes the outputs, or the inputs if there are none. A look-up that fails, or might harm the job, leaves its
    dataset as it is. All together take ``timeout`` seconds at most, but for connectors and frames of the job's own
    code: of these no further one is begun then.
    """
    deadline = time.monotonic() + timeout
    datasets = [*inputs, *outputs]
    if _is_frame(connector) or (isinstance(connector, (str, os.PathLike)) and not Path(connector).is_dir()):
        datasets = list(outputs) or list(inputs)
    known: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for dataset in datasets:
        if "schema" in dataset["facets"] or (found := _route(connector, dataset["name"])) is None:
            continue
        if (rest := deadline - time.monotonic()) <= 0:
            warn_once("lineage: looking up schemas takes too long, the rest is left out")
            return
        one, table = found
        if (id(one), table) not in known:
            known[id(one), table] = _look_up(one, table, rest)
        if fields := known[id(one), table]:
            dataset["facets"]["schema"] = complete_facet("schema", {"fields": fields}, "Dataset")


def _route(connector: Any, name: str) -> tuple[Any, str] | None:
    """The connector for a dataset and the table to ask it for."""
    prefix, slash, rest = name.partition("/")
    table = rest if slash else name
    if isinstance(connector, SchemaConnector) or not isinstance(connector, Mapping):
        return connector, table
    if name in connector:
        return connector[name], table
    return (connector[prefix], table) if slash and prefix in connector else None


def _look_up(connector: Any, table: str, seconds: float) -> list[dict[str, Any]]:
    try:
        one = as_connector(connector)
        if isinstance(one, (DbApiSchemas, SqlAlchemySchemas, FileSchemas)):
            return schema_fields(one.look_up(table, seconds))
        found = one.get_table_schema(table)
        return schema_fields(found) if found is not None else []
    except LeftAloneError as reason:
        with contextlib.suppress(Exception):
            log.debug("%s", mask_text(f"lineage: the schema of {table!r} is not looked up: {reason}"))
        return []
    except Exception as problem:
        warn_once(f"lineage: the schema of {table!r} cannot be looked up: {describe(problem)}")
        return []
