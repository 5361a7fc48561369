"""The table of Snap classes: what a Snap does, which system it talks to, which settings say where.

To teach the exporter a class, add one line to `_CLASSES` (or one entry to the file of `--classes`); database
Snaps of a system in `_SYSTEMS` need none, their verb (`select`, `insert`, `bulkload` ...) tells. Sources:
SnapLogic's documentation and public exports.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from .document import Node, read_json

if TYPE_CHECKING:
    from collections.abc import Mapping


class Role(StrEnum):
    """What a Snap does with documents."""

    PASS = "pass"  # noqa: S105 - a role, no password: columns unchanged (several inputs: united)
    MAP = "map"
    STRUCTURE = "structure"
    CONDITIONAL = "conditional"
    JOIN = "join"
    AGGREGATE = "aggregate"
    SPLIT = "split"
    GENERATE = "generate"
    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"  # a statement that may read and write
    CALL = "call"  # HTTP, mail: the input comes out under `original`
    CHILD = "child"
    OPAQUE = "opaque"


class Place(StrEnum):
    """How the settings say which dataset an endpoint is."""

    NONE = "none"
    TABLE = "table"  # settings: schema, table
    FILE = "file"  # a URL or path
    OBJECT = "object"  # settings: bucket, key
    NAMES = "names"  # topics, entities, destinations
    SQL = "sql"
    SOQL = "soql"


@dataclass(frozen=True, slots=True)
class SnapClass:
    """One class: role, system ("" = none, or told by the address), how its place is told, and by which
    settings."""

    role: Role
    system: str = ""
    place: Place = Place.NONE
    settings: tuple[str, ...] = ()
    known: bool = True


_TABLE = ("schemaName", "tableName")
_R, _P = Role, Place

_CLASSES: dict[str, SnapClass] = {
    "transform-datatransform": SnapClass(_R.MAP),
    "transform-structuraltransform": SnapClass(_R.STRUCTURE),
    "transform-conditional": SnapClass(_R.CONDITIONAL),
    "transform-multijoin": SnapClass(_R.JOIN),
    "transform-aggregate": SnapClass(_R.AGGREGATE),
    "transform-jsonsplitter": SnapClass(_R.SPLIT),
    "transform-jsongenerator": SnapClass(_R.GENERATE),
    "transform-sort": SnapClass(_R.PASS),
    "transform-unique": SnapClass(_R.PASS),
    "transform-jsonformatter": SnapClass(_R.PASS),
    "transform-csvformatter": SnapClass(_R.PASS),
    "transform-jsonparser": SnapClass(_R.PASS),
    "transform-csvparser": SnapClass(_R.PASS),
    "transform-documenttobinary": SnapClass(_R.PASS),
    "transform-binarytodocument": SnapClass(_R.PASS),
    "binary-documenttobinary": SnapClass(_R.PASS),
    "binary-binarytodocument": SnapClass(_R.PASS),
    "flow-filter": SnapClass(_R.PASS),
    "flow-router": SnapClass(_R.PASS),
    "flow-union": SnapClass(_R.PASS),
    "flow-copy": SnapClass(_R.PASS),
    "flow-head": SnapClass(_R.PASS),
    "flow-tail": SnapClass(_R.PASS),
    "flow-datavalidator": SnapClass(_R.PASS),
    "flow-exit": SnapClass(_R.PASS),
    "flow-gate": SnapClass(_R.OPAQUE),
    "transform-groupbyn": SnapClass(_R.OPAQUE),
    "transform-sequence": SnapClass(_R.OPAQUE),
    "script-script": SnapClass(_R.OPAQUE),
    "flow-pipeexec": SnapClass(_R.CHILD),
    "binary-simpleread": SnapClass(_R.READ, "", _P.FILE, ("filePath",)),
    "binary-read": SnapClass(_R.READ, "", _P.FILE, ("filePath", "filename")),
    "binary-write": SnapClass(_R.WRITE, "", _P.FILE, ("filename", "filePath")),
    "binary-delete": SnapClass(_R.WRITE, "", _P.FILE, ("filePath", "filename")),
    "s3-s3download": SnapClass(_R.READ, "S3", _P.OBJECT, ("bucket", "objectKey")),
    "s3-s3upload": SnapClass(_R.WRITE, "S3", _P.OBJECT, ("bucket", "objectKey")),
    "s3-s3browser": SnapClass(_R.OPAQUE, "S3"),
    "confluentkafka-confluentkafkaconsumer": SnapClass(_R.READ, "Kafka", _P.NAMES, ("topics", "topic")),
    "confluentkafka-confluentkafkaproducer": SnapClass(_R.WRITE, "Kafka", _P.NAMES, ("topics", "topic")),
    "confluentkafka-confluentkafkaacknowledge": SnapClass(_R.PASS),
    "confluentkafka-acknowledge": SnapClass(_R.PASS),
    "salesforce-read": SnapClass(_R.READ, "Salesforce", _P.NAMES, ("objectType",)),
    "salesforce-create": SnapClass(_R.WRITE, "Salesforce", _P.NAMES, ("objectType",)),
    "salesforce-update": SnapClass(_R.WRITE, "Salesforce", _P.NAMES, ("objectType",)),
    "salesforce-upsert": SnapClass(_R.WRITE, "Salesforce", _P.NAMES, ("objectType",)),
    "salesforce-delete": SnapClass(_R.WRITE, "Salesforce", _P.NAMES, ("objectType",)),
    "salesforce-query": SnapClass(_R.READ, "Salesforce", _P.SOQL, ("soqlQuery",)),
    "jms-jmsconsumer": SnapClass(_R.READ, "JMS", _P.NAMES, ("destination",)),
    "jms-jmsproducer": SnapClass(_R.WRITE, "JMS", _P.NAMES, ("destination",)),
    "snowflake-snowpipestreaming": SnapClass(_R.WRITE, "Snowflake", _P.TABLE, _TABLE),
    "apisuite-httpclient": SnapClass(_R.CALL),
    "email-emailsender": SnapClass(_R.CALL),
}

_SYSTEMS = {
    "postgres": "Postgres",
    "sqlserver": "SQL Server",
    "oracle": "Oracle",
    "mysql": "MySQL",
    "snowflake": "Snowflake",
    "redshift": "Redshift",
    "jdbc": "JDBC",
    "alloydb": "AlloyDB",
    "azuresql": "Azure SQL",
    "azuresynapse": "Azure Synapse",
    "bigquery": "BigQuery",
    "cassandra": "Cassandra",
    "databricks": "Databricks",
    "hive": "Hive",
    "saphana": "SAP HANA",
    "teradata": "Teradata",
    "vertica": "Vertica",
}
"""Database Snap packs: the middle part of the class id, and the system's name."""

_READS = ("select", "lookup", "tablelist")
_WRITES = (
    "insert",
    "update",
    "delete",
    "upsert",
    "merge",
    "bulkload",
    "bulkinsert",
    "bulkupsert",
    "snowpipestreaming",
)

UNKNOWN_CLASS = SnapClass(Role.OPAQUE, known=False)


def snap_class(kind: str, own: Mapping[str, SnapClass]) -> SnapClass:
    """The class for `kind` (without SnapLogic's prefix): `own` first, then the table, then system and verb;
    else unknown."""
    found = own.get(kind) or _CLASSES.get(kind)
    if found:
        return found
    pack, _, verb = kind.partition("-")
    system = _SYSTEMS.get(pack)
    if system is None:
        return SnapClass(Role.CALL) if pack == "rest" else UNKNOWN_CLASS
    if verb in _READS:
        return SnapClass(Role.READ, system, Place.TABLE, _TABLE)
    if verb in _WRITES or verb.startswith("bulk"):
        return SnapClass(Role.WRITE, system, Place.TABLE, _TABLE)
    if verb in ("execute", "multiexecute"):
        return SnapClass(Role.EXECUTE, system, Place.SQL, ("sqlStatement", "sqlStatements"))
    return UNKNOWN_CLASS


def read_classes(data: bytes, file: str, prefix: str) -> dict[str, SnapClass]:
    """A team's own classes: class id (with or without `prefix`) to `{"role", "system", "place", "settings":
    [names]}`."""
    return {key.removeprefix(prefix): _own(node) for key, node in read_json(data, file).items()}


def _own(node: Node) -> SnapClass:
    settings = tuple(row.text() for row in node.get("settings").rows())
    role, place = node.get("role"), node.get("place")
    return SnapClass(
        Role(_one_of(role, list(Role))),
        node.get("system").text(),
        Place(_one_of(place, list(Place), "none")),
        settings,
    )


def _one_of(node: Node, valid: list[Role] | list[Place], default: str = "") -> str:
    text = node.text() or default
    if text not in [str(value) for value in valid]:
        raise node.error(f"{text!r} is none of {', '.join(valid)}")
    return text
