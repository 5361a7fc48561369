"""Names of endpoint datasets: `<system>` + `database.schema.table` as documented, or OpenLineage's naming."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from .document import read_json

if TYPE_CHECKING:
    from .accounts import Target


class Naming(StrEnum):
    """Namespaces of endpoints: the system's name (SnapLogic's documentation), or OpenLineage's naming."""

    DOCUMENTED = "documented"
    OPENLINEAGE = "openlineage"


@dataclass(frozen=True, slots=True)
class DatasetName:
    """The identity of a dataset."""

    namespace: str
    name: str


_QUOTES = {'"': '"', "`": "`", "[": "]"}
_FILE_SYSTEMS = {
    "file": "file",
    "s3": "S3",
    "s3a": "S3",
    "s3n": "S3",
    "sftp": "SFTP",
    "ftp": "FTP",
    "ftps": "FTP",
    "smb": "SMB",
    "http": "HTTP",
    "https": "HTTP",
    "hdfs": "HDFS",
    "gs": "GCS",
    "wasb": "Azure",
    "wasbs": "Azure",
    "abfs": "Azure",
    "abfss": "Azure",
    "adl": "Azure",
    "sldb": "SLDB",
}


def table_parts(text: str) -> list[str]:
    """The parts of a table name without quotes (`"s"."t"`, backticks, `[s].[t]`); dots in quotes do not
    split."""
    parts, part, closing, at = [], "", "", 0
    while at < len(text):
        char = text[at]
        if closing:
            if char == closing and text[at + 1 : at + 2] == closing:
                part, at = part + char, at + 1
            elif char == closing:
                closing = ""
            else:
                part += char
        elif char in _QUOTES and not part.strip():
            closing, part = _QUOTES[char], ""
        elif char == ".":
            parts.append(part.strip())
            part = ""
        else:
            part += char
        at += 1
    parts.append(part.strip())
    return [part for part in parts if part]


def table_name(schema: str, table: str, system: str, target: Target) -> str:
    """`database.schema.table`: a qualified `table` wins over `schema`, no part twice; without a database
    `schema.table`."""
    parts = table_parts(table)
    if len(parts) == 1:
        parts = [*table_parts(schema), *parts]
    is_whole = len(parts) >= 3 or (system == "MySQL" and len(parts) == 2)
    if target.database and not is_whole:
        parts = [target.database, *parts]
    return ".".join(parts)


def endpoint(system: str, name: str, target: Target, naming: Naming) -> DatasetName:
    """The dataset `name` of a system; in OpenLineage's naming when that was asked for and the account tells
    the host."""
    if naming is Naming.OPENLINEAGE and target.namespace:
        return DatasetName(target.namespace, name)
    return DatasetName(target.system or system, name)


def object_name(bucket: str, key: str, system: str, naming: Naming) -> DatasetName:
    """An object in a bucket: `S3` + `bucket/key`, or `s3://bucket` + `key`."""
    key = key.strip("/")
    if naming is Naming.OPENLINEAGE:
        return DatasetName(f"s3://{bucket}", key or "/")
    return DatasetName(system, f"{bucket}/{key}" if key else bucket)


def file_name(url: str, naming: Naming) -> DatasetName:
    """A file by URL or path, without user, password and query; no scheme = SnapLogic's own store (SLDB)."""
    if "://" not in url:
        return DatasetName("SLDB", url.removeprefix("sldb:"))
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return DatasetName("file", url)
    system = _FILE_SYSTEMS.get(parts.scheme.lower(), parts.scheme)
    path = unquote(parts.path)
    if system == "S3":
        bucket, _, key = f"{parts.netloc}{path}".strip("/").partition("/")
        return object_name(bucket.partition("@")[0], key, system, naming)
    if system == "file":
        return DatasetName("file", host + path or "/")
    if naming is Naming.OPENLINEAGE and host:
        return DatasetName(f"{parts.scheme}://{host}{port}", path)
    return DatasetName(system, f"{host}{port}{path}" if host else path)


def read_columns(data: bytes, file: str) -> dict[str, tuple[str, ...]]:
    """What a team tells about columns: dataset name (with or without its database) to a list of column
    names."""
    return {name: tuple(row.text() for row in node.rows()) for name, node in read_json(data, file).items()}
