"""An integration daemon and its connectors, through Egeria's runtime manager."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Protocol

from msgspec import Struct

from lineagelog.errors import EgeriaRefused

_GUID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_TYPES: Final = ("SoftwareServer", "ITInfrastructure")


class Caller(Protocol):
    """What calls Egeria: `remote.Egeria`."""

    def call(self, name: str, *, pages: bool = False, **arguments: Any) -> Any:
        """Make a call. Raises EgeriaUnavailable, EgeriaUnfit, EgeriaRefused."""


class RunningConnector(Struct, frozen=True):
    """A connector as its daemon reports it (odpi/egeria, IntegrationConnectorReport)."""

    name: str
    status: str
    last_refresh: str | None
    problem: str | None
    """Why it failed."""


class IntegrationDaemon:
    """The daemon of that GUID. Raises what calls raise."""

    def __init__(self, caller: Caller, guid: str, name: str) -> None:
        self._caller, self.guid, self.name = caller, guid, name

    def connectors(self) -> list[RunningConnector]:
        """Those that it runs, by name."""
        report = self._caller.call("server_report", server_guid=self.guid)
        if not isinstance(report, Mapping):
            raise EgeriaRefused(f"Egeria has no report of {self.name}: is it running?")
        found = [_state(each) for each in report.get("integrationConnectorReports") or ()]
        return sorted(found, key=lambda each: each.name)

    def restart(self, connector: str | None) -> None:
        """Restart a connector; None: all of them."""
        self._caller.call("restart_connector", server_guid=self.guid, body=_named(connector))

    def refresh(self, connector: str | None) -> None:
        """Have a connector do its work now; None: all of them."""
        self._caller.call("refresh_connector", server_guid=self.guid, body=_named(connector))

    def properties(self, connector: str) -> dict[str, Any]:
        """Its configuration properties."""
        return dict(self._caller.call("connector_properties", connector_name=connector, server_guid=self.guid) or {})

    def configure(self, connector: str, properties: Mapping[str, Any], *, replace: bool = False) -> None:
        """Set these properties, until the daemon restarts; with ``replace`` the others go.

        pyegeria's own default differs between its two forms of the call: said here each time.
        """
        self._caller.call(
            "configure_connector",
            connector_name=connector,
            server_guid=self.guid,
            merge_update=not replace,
            config_properties=dict(properties),
        )

    def publish_event(self, event: Mapping[str, Any]) -> None:
        """Hand an OpenLineage run event to all its connectors that listen."""
        self._caller.call("publish_event", ol_event=dict(event), server_guid=self.guid)


def find_daemon(caller: Caller, name: str) -> IntegrationDaemon:
    """The daemon of that GUID or name: its resource name (`Organisation.name`), display name or qualified name.

    Raises EgeriaRefused if there is none, or more than one; and what calls raise.
    """
    if _GUID.fullmatch(name):
        return IntegrationDaemon(caller, name, name)
    names = ["resourceName", "displayName", "qualifiedName"]
    found = caller.call("find", pages=True, property_value=name, property_names=names)
    servers = {guid: header for guid, header in map(_header, found) if guid and _is_server(header)}
    if len(servers) != 1:
        many = f"{len(servers)} servers" if servers else "no server"
        raise EgeriaRefused(f"Egeria knows {many} of the name {name}: give its resource name or its GUID")
    return IntegrationDaemon(caller, next(iter(servers)), name)


def _named(connector: str | None) -> dict[str, str]:
    """The body of a request for one connector, or for all: pyegeria sends none for all, in one of its calls."""
    return {"class": "NameRequestBody"} | ({"name": connector} if connector else {})


def _header(element: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    header = element.get("elementHeader") or {}
    return str(header.get("guid") or ""), header


def _is_server(header: Mapping[str, Any]) -> bool:
    kind = header.get("type") or {}
    return any(name in (kind.get("typeName"), *(kind.get("superTypeNames") or ())) for name in _TYPES)


def _state(report: Mapping[str, Any]) -> RunningConnector:
    status = str(report.get("connectorStatus") or report.get("connectorInstanceStatus") or "UNKNOWN")
    failure = report.get("failingExceptionMessage")
    problem = str(failure) if failure else ("it failed" if "FAIL" in status else None)
    refreshed = report.get("lastRefreshTime")
    return RunningConnector(str(report.get("connectorName") or ""), status, refreshed and str(refreshed), problem)
