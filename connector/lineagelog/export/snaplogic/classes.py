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
    PARSE = "parse"  # bytes to documents: columns unchanged, others from nowhere or from the field `content`
    WRAP = "wrap"  # whole documents below one field
    GENERATE = "generate"
    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"  # a statement that may read and write
    CALL = "call"  # HTTP, mail: the input comes out under `original`
    CHILD = "child"
    OPAQUE = "opaque"


class Addressing(StrEnum):
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
    place: Addressing = Addressing.NONE
    settings: tuple[str, ...] = ()
    known: bool = True


_TABLE = ("schemaName", "tableName")
_FILE = ("filePath", "filename", "fileName", "file", "directory", "path", "url")
_ENTITY = ("objectType", "tableName", "entity", "entityName", "objectName", "resource", "object")
_R, _P = Role, Addressing

_CLASSES: dict[str, SnapClass] = {
    "transform-datatransform": SnapClass(_R.MAP),
    "transform-mapper": SnapClass(_R.MAP),
    "transform-structuraltransform": SnapClass(_R.STRUCTURE),
    "transform-conditional": SnapClass(_R.CONDITIONAL),
    "transform-lookup": SnapClass(_R.JOIN),
    "transform-aggregate": SnapClass(_R.AGGREGATE),
    "transform-jsonsplitter": SnapClass(_R.SPLIT),
    "transform-jsongenerator": SnapClass(_R.GENERATE),
    "transform-csvgenerator": SnapClass(_R.GENERATE),
    "transform-groupbyn": SnapClass(_R.WRAP),
    "transform-groupbyfields": SnapClass(_R.WRAP),
    "flow-groupbyn": SnapClass(_R.WRAP),
    "flow-gate": SnapClass(_R.WRAP),
    "transform-binarytodocument": SnapClass(_R.PARSE),
    "binary-binarytodocument": SnapClass(_R.PARSE),
    "flow-pipeexec": SnapClass(_R.CHILD),
    "flow-pipeloop": SnapClass(_R.CHILD),
    "binary-simpleread": SnapClass(_R.READ, "", _P.FILE, ("filePath",)),
    "binary-read": SnapClass(_R.READ, "", _P.FILE, ("filePath", "filename")),
    "binary-write": SnapClass(_R.WRITE, "", _P.FILE, ("filename", "filePath")),
    "binary-delete": SnapClass(_R.WRITE, "", _P.FILE, ("filePath", "filename")),
    "s3-s3download": SnapClass(_R.READ, "S3", _P.OBJECT, ("bucket", "objectKey")),
    "s3-s3upload": SnapClass(_R.WRITE, "S3", _P.OBJECT, ("bucket", "objectKey")),
    "s3-s3browser": SnapClass(_R.OPAQUE, "S3"),
    "confluentkafka-confluentkafkaconsumer": SnapClass(_R.READ, "Kafka", _P.NAMES, ("topics", "topic")),
    "confluentkafka-confluentkafkaproducer": SnapClass(_R.WRITE, "Kafka", _P.NAMES, ("topics", "topic")),
    "salesforce-read": SnapClass(_R.READ, "Salesforce", _P.NAMES, ("objectType",)),
    "salesforce-query": SnapClass(_R.READ, "Salesforce", _P.SOQL, ("soqlQuery",)),
    "jms-jmsconsumer": SnapClass(_R.READ, "JMS", _P.NAMES, ("destination",)),
    "jms-jmsproducer": SnapClass(_R.WRITE, "JMS", _P.NAMES, ("destination",)),
    "snowflake-snowpipestreaming": SnapClass(_R.WRITE, "Snowflake", _P.TABLE, _TABLE),
    "mongo-find": SnapClass(_R.READ, "MongoDB", _P.TABLE, ("queryDB", "collectionName")),
    "mongo-insert": SnapClass(_R.WRITE, "MongoDB", _P.TABLE, ("queryDB", "collectionName")),
    "mongo-update": SnapClass(_R.WRITE, "MongoDB", _P.TABLE, ("queryDB", "collectionName")),
    "mongo-delete": SnapClass(_R.WRITE, "MongoDB", _P.TABLE, ("queryDB", "collectionName")),
    "mongo-execute": SnapClass(_R.CALL),
    "dynamodb-scan": SnapClass(_R.READ, "DynamoDB", _P.NAMES, ("tableName", "TableName")),
    "dynamodb-query": SnapClass(_R.READ, "DynamoDB", _P.NAMES, ("tableName", "TableName")),
    "dynamodb-get": SnapClass(_R.READ, "DynamoDB", _P.NAMES, ("tableName", "TableName")),
    "dynamodb-put": SnapClass(_R.WRITE, "DynamoDB", _P.NAMES, ("tableName", "TableName")),
    "dynamodb-delete": SnapClass(_R.WRITE, "DynamoDB", _P.NAMES, ("tableName", "TableName")),
    "azure-azureupload": SnapClass(_R.WRITE, "Azure", _P.FILE, ("blob", "blobName", *_FILE)),
    "azure-azuredownload": SnapClass(_R.READ, "Azure", _P.FILE, ("blob", "blobName", *_FILE)),
}

_PASSING = """
flow-filter flow-router flow-union flow-copy flow-head flow-tail flow-datavalidator flow-exit transform-sort
transform-unique transform-filter transform-router transform-union transform-copy transform-recordreplay
transform-typeconverter mldatapreparation-typeconverter transform-documenttobinary transform-transcoder
transform-encryptfield transform-decryptfield transform-base64encode transform-base64decode
binary-documenttobinary binary-compress binary-decompress binary-encrypt binary-decrypt binary-copy
confluentkafka-confluentkafkaacknowledge confluentkafka-acknowledge jms-jmsacknowledge
"""
"""Snaps that change no column. (A type converter changes types, which a column's origin does not show.)"""

_OPAQUE = """
transform-sequence transform-constant transform-xmlgenerator transform-xsltransform transform-jsonpath
transform-pivot transform-unpivot transform-diff script-script script-python
binary-directorybrowser binary-directorybrowse binary-filepoller binary-trash
"""
"""Snaps that are known, yet whose columns their settings do not tell."""

_CLASSES.update({kind: SnapClass(_R.PASS) for kind in _PASSING.split()})
_CLASSES.update({kind: SnapClass(_R.OPAQUE) for kind in _OPAQUE.split()})

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
    "db2": "DB2",
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

_APPLICATIONS = {
    "salesforce": "Salesforce",
    "dynamics": "Dynamics",
    "dynamics365": "Dynamics",
    "servicenow": "ServiceNow",
    "netsuite": "NetSuite",
    "marketo": "Marketo",
    "zuora": "Zuora",
    "hubspot": "HubSpot",
}
"""Packs of applications whose Snaps name an entity."""

_CALLS = """
rest soap http httpclient apisuite email slack teams twilio openai azureopenai awsbedrock googlegenerativeai
llmutils openaillm vertexai pinecone experimental workday graphql
odata sharepoint onedrive googledrive box dropbox
"""
"""Packs whose Snaps call something: the input comes out under `original`, the answer from nowhere."""

_ENDINGS = {
    "formatter": Role.PASS,
    "parser": Role.PARSE,
    "splitter": Role.SPLIT,
    "join": Role.JOIN,
    "inmemorylookup": Role.JOIN,
}
"""Roles that the end of a Snap's name tells, whatever its pack."""

_FILE_PACKS = "binary hadoop"

UNKNOWN_CLASS = SnapClass(Role.OPAQUE, known=False)


def snap_class(kind: str, own: Mapping[str, SnapClass]) -> SnapClass:
    """The class for `kind` (without SnapLogic's prefix): `own` first, then the table, then system and verb;
    else unknown."""
    found = own.get(kind) or _CLASSES.get(kind)
    if found:
        return found
    pack, _, verb = kind.partition("-")
    named = next((role for ending, role in _ENDINGS.items() if verb.endswith(ending)), None)
    if named is not None:
        return SnapClass(named)
    if pack in _SYSTEMS:
        return _database(_SYSTEMS[pack], verb)
    if pack in _APPLICATIONS:
        return _application(_APPLICATIONS[pack], verb)
    if pack in _FILE_PACKS.split():
        return _file(verb)
    if pack == "mldatapreparation":
        return SnapClass(Role.PASS)
    return SnapClass(Role.CALL) if pack in _CALLS.split() else UNKNOWN_CLASS


def _database(system: str, verb: str) -> SnapClass:
    if verb in _READS:
        return SnapClass(Role.READ, system, Addressing.TABLE, _TABLE)
    if verb in _WRITES or verb.startswith("bulk"):
        return SnapClass(Role.WRITE, system, Addressing.TABLE, _TABLE)
    if verb in ("execute", "multiexecute"):
        return SnapClass(Role.EXECUTE, system, Addressing.SQL, ("sqlStatement", "sqlStatements"))
    return SnapClass(Role.CALL) if verb == "storedprocedure" else UNKNOWN_CLASS


def _application(system: str, verb: str) -> SnapClass:
    verb = verb.removeprefix("bulk")
    if verb in ("read", "query", "search", "get", "lookup", "list"):
        return SnapClass(Role.READ, system, Addressing.NAMES, _ENTITY)
    if verb in ("create", "update", "upsert", "delete", "add", "insert", "write"):
        return SnapClass(Role.WRITE, system, Addressing.NAMES, _ENTITY)
    return UNKNOWN_CLASS


def _file(verb: str) -> SnapClass:
    """Readers and writers of files, objects and blobs, by what is in their names."""
    if any(word in verb for word in ("read", "get", "download")):
        return SnapClass(Role.READ, "", Addressing.FILE, _FILE)
    if any(word in verb for word in ("write", "put", "upload", "delete")):
        return SnapClass(Role.WRITE, "", Addressing.FILE, _FILE)
    return SnapClass(Role.OPAQUE)


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
        Addressing(_one_of(place, list(Addressing), "none")),
        settings,
    )


def _one_of(node: Node, valid: list[Role] | list[Addressing], default: str = "") -> str:
    text = node.text() or default
    if text not in [str(value) for value in valid]:
        raise node.error(f"{text!r} is none of {', '.join(valid)}")
    return text
