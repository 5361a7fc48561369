"""Accounts and the namespaces file: which system, host and database a Snap's account stands for.

A pipeline holds only references to accounts; host and database are in the account assets (`GET
/api/1/rest/asset/...`, or the `AccountAsset` entries of a project export). The namespaces file of the team wins
over what the assets say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .document import ExportNote, Node, read_json
from .expression import UNKNOWN, evaluate

if TYPE_CHECKING:
    from collections.abc import Mapping

_JDBC_URL = re.compile(
    r"jdbc:(?P<scheme>[a-z0-9]+):(?:thin:@)?(?:/{2})?(?P<host>[^:/;?,@]+)"
    r"(?::(?P<port>\d+))?(?:[/:](?P<db>[^;?/]+))?",
    re.IGNORECASE,
)
_JDBC_DATABASE = re.compile(r"[;?&](?:databaseName|database|db)=([^;&]+)", re.IGNORECASE)
_SCHEMES = {
    "Postgres": "postgres",
    "SQL Server": "sqlserver",
    "Oracle": "oracle",
    "MySQL": "mysql",
    "Redshift": "redshift",
    "Kafka": "kafka",
    "Teradata": "teradata",
    "SAP HANA": "hana",
    "Salesforce": "salesforce",
    "JDBC": "jdbc",
}
_JDBC_SYSTEMS = {
    "postgresql": "Postgres",
    "sqlserver": "SQL Server",
    "oracle": "Oracle",
    "mysql": "MySQL",
    "snowflake": "Snowflake",
    "redshift": "Redshift",
}
_SNOWFLAKE_DOMAIN = ".snowflakecomputing.com"


@dataclass(frozen=True, slots=True)
class AccountAsset:
    """An account asset: what identifies it and where it leads. Empty texts = not told."""

    id: str
    path: str
    label: str
    host: str = ""
    port: str = ""
    database: str = ""
    jdbc_system: str = ""


@dataclass(frozen=True, slots=True)
class Mapped:
    """An entry of the namespaces file: the system's name, its namespace in OpenLineage's naming, the
    database."""

    system: str = ""
    namespace: str = ""
    database: str = ""


@dataclass(frozen=True, slots=True)
class AccountReference:
    """What a Snap says about its account: the label or path, and the asset id if the file has it."""

    name: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a Snap's account leads. `system`: its name, "" = as the Snap's class says; `namespace`: in
    OpenLineage's naming."""

    system: str = ""
    namespace: str = ""
    database: str = ""
    known: bool = False


@dataclass(frozen=True, slots=True)
class AccountBook:
    """All accounts and mappings that were given."""

    accounts: tuple[AccountAsset, ...] = ()
    mapped: Mapping[str, Mapped] = field(default_factory=dict)

    def target(self, reference: AccountReference, system: str) -> Target:
        """Where `reference` leads, for a Snap of `system`; an unknown target when nothing was given for
        it."""
        account = self._account(reference)
        label = account.label if account else reference.name.rpartition("/")[2]
        keys = (reference.name, label, account.path if account else "", account.id if account else "")
        mapped = next((self.mapped[key] for key in keys if key and key in self.mapped), None)
        if account is None and mapped is None:
            return Target()
        account, mapped = account or AccountAsset("", "", label), mapped or Mapped()
        system = mapped.system or account.jdbc_system or system
        return Target(
            system,
            mapped.namespace or _namespace(system, account),
            mapped.database or account.database,
            known=True,
        )

    def _account(self, reference: AccountReference) -> AccountAsset | None:
        by_id = [account for account in self.accounts if reference.id and account.id == reference.id]
        if by_id or not reference.name:
            return by_id[0] if by_id else None
        wanted = [part for part in reference.name.split("/") if part not in ("", "..", ".")]
        named = [account for account in self.accounts if wanted and account.label == wanted[-1]]
        return max(named, key=lambda account: _common_end(account.path.split("/"), wanted), default=None)


def read_accounts(data: bytes, file: str) -> tuple[AccountAsset, ...]:
    """The accounts of a file: a list of assets, of `{"path", "account"}`, a project export, or `{label:
    {hostname, ...}}`."""
    document = read_json(data, file)
    if document.has("entries"):
        nodes = document.get("entries").rows()
    elif isinstance(document.value, list):
        nodes = document.rows()
    elif document.has("property_map") or document.has("account"):
        nodes = [document]
    else:
        return tuple(_plain(label, node) for label, node in document.items())
    return tuple(account for node in nodes if (account := _asset(node)))


def read_namespaces(data: bytes, file: str) -> dict[str, Mapped]:
    """The namespaces file: account label, path or id to `{"system", "openlineage_namespace", "database"}`."""
    return {
        label: Mapped(node.get("system").text(), node.get("openlineage_namespace").text(), node.get("database").text())
        for label, node in read_json(data, file).items()
    }


def read_reference(node: Node, parameters: Mapping[str, str], findings: list[ExportNote]) -> AccountReference:
    """What `account_ref` refers to: nothing, an expression over parameters, or a label with an asset id."""
    inner = node.unwrap()
    if inner.empty:
        return AccountReference()
    if not isinstance(inner.value, dict):
        return _named(node, parameters, findings)
    label = inner.get("label")
    name = (
        label.get("label").text()
        if isinstance(label.value, dict) and not label.get("label").empty
        else label.unwrap().text()
    )
    return AccountReference(name, inner.get("ref_id").unwrap().text())


def _named(node: Node, parameters: Mapping[str, str], findings: list[ExportNote]) -> AccountReference:
    setting = node.setting()
    if not setting.expression:
        return AccountReference(setting.text)
    name = evaluate(setting.text, parameters)
    if name is None or UNKNOWN in name:
        findings.append(
            ExportNote(
                node.file,
                node.place,
                f"the account expression {setting.text!r} cannot be resolved from the parameters",
            )
        )
        return AccountReference()
    return AccountReference(name)


def _asset(node: Node) -> AccountAsset | None:
    """The account in one entry; None for other assets (pipelines, tasks)."""
    asset = node.get("account") if node.has("account") else node.get("asset") if node.has("asset") else node
    if not asset.has("property_map") or asset.has("snap_map"):
        return None
    label = asset.at("property_map", "info", "label").unwrap().text()
    path = node.get("path").text() or asset.get("path").text() or label
    settings = asset.at("property_map", "settings")
    identity = (asset.get("instance_id").text(), path, label or path.rpartition("/")[2])
    return _located(identity, settings, settings.get("connectionProperties").unwrap())


def _plain(label: str, node: Node) -> AccountAsset:
    return _located(("", label, label.rpartition("/")[2]), node, node)


def _located(identity: tuple[str, str, str], settings: Node, connection: Node) -> AccountAsset:
    host = connection.get("hostname").unwrap().text()
    port = connection.get("portNumber").unwrap().text()
    database = connection.get("databaseName").unwrap().text()
    brokers = [row.get("bootstrapServer").unwrap().text() for row in settings.get("bootstrapServerList").table()]
    if brokers:
        host, _, port = brokers[0].partition(":")
    url = _first(connection, settings, "customJdbcUrl") or _first(connection, settings, "jdbcUrl")
    if url and (match := _JDBC_URL.match(url)):
        named = _JDBC_DATABASE.search(url)
        system = _JDBC_SYSTEMS.get(match["scheme"].lower(), "")
        found = named[1] if named else match["db"] or ""
        return AccountAsset(*identity, host or match["host"], port or match["port"] or "", database or found, system)
    return AccountAsset(*identity, host, port, database)


def _first(connection: Node, settings: Node, key: str) -> str:
    return connection.get(key).unwrap().text() or settings.get(key).unwrap().text()


def _namespace(system: str, account: AccountAsset) -> str:
    """OpenLineage's naming of the system: `scheme://host:port`, for Snowflake `snowflake://account`; ""
    without a host."""
    if not account.host:
        return ""
    if system == "Snowflake":
        return f"snowflake://{account.host.removesuffix(_SNOWFLAKE_DOMAIN)}"
    scheme = _SCHEMES.get(system, system.lower().replace(" ", ""))
    is_web = system == "Salesforce"
    return f"{scheme}://{account.host}" + (f":{account.port}" if account.port and not is_web else "")


def _common_end(path: list[str], wanted: list[str]) -> int:
    count = 0
    for have, want in zip(reversed(path), reversed(wanted), strict=False):
        if have != want:
            break
        count += 1
    return count
