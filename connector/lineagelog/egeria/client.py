"""The home of pyegeria: a program of its own that calls Egeria for whoever started it, a JSON line for a JSON line.

pyegeria patches asyncio for the whole process and brings some 160 packages, so it has a process and, where one is
named, a Python environment to itself. That is why this file imports nothing of lineagelog: `remote.py` starts it with
whatever Python has pyegeria, tells it in a first line where Egeria is, and sends it calls:

    {"platform_url": …, "view_server": …, "user": …, "password": …, "ca_file": …, "verify_tls": …, …}
    {"call": "create_asset", "with": {"body": {…}}}            -> {"value": "GUID"}
    {"call": "find", "with": {…}, "pages": true}               -> {"value": [{…}, …]}
                                                               -> {"error": {"kind": "refused", "text": …, …}}

What pyegeria 6.2 does otherwise than one expects, and what is done here about it, stands beside each line that does it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import ssl
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import IO, Any

NOTHING = "No elements found"
"""What pyegeria gives in place of an empty list."""

CALLS = {
    "about": ("ClassificationExplorer", "get_platform_origin"),
    "find": ("ClassificationExplorer", "get_elements_by_property_value"),
    "get": ("ClassificationExplorer", "get_element_by_guid"),
    "related": ("ClassificationExplorer", "get_related_elements"),
    "add_data_scope": ("ClassificationExplorer", "add_data_scope"),
    "update_data_scope": ("ClassificationExplorer", "update_data_scope"),
    "classify": ("MetadataExpert", "classify_metadata_element"),
    "reclassify": ("MetadataExpert", "reclassify_metadata_element"),
    "create_asset": ("AssetMaker", "create_asset"),
    "update_asset": ("AssetMaker", "update_asset"),
    "delete_asset": ("AssetMaker", "delete_asset"),
    "link_process_hierarchy": ("AssetMaker", "link_process_hierarchy"),
    "link_impacted_resource": ("AssetMaker", "link_impacted_resource"),
    "set_asset_as_lineage_log": ("AssetMaker", "set_asset_as_lineage_log"),
    "create_annotation": ("DataDiscovery", "create_annotation"),
    "update_annotation": ("DataDiscovery", "update_annotation"),
    "delete_annotation": ("DataDiscovery", "delete_annotation"),
    "link_annotation": ("DataDiscovery", "link_annotation_to_described_element"),
    "link_request_for_action_target": ("DataDiscovery", "link_request_for_action_target"),
    "link_lineage": ("LineageLinker", "link_lineage"),
    "publish_event": ("RuntimeManager", "publish_open_lineage_event"),
    "connector_properties": ("RuntimeManager", "get_integration_connector_config_properties"),
    "configure_connector": ("RuntimeManager", "update_connector_configuration"),
    "refresh_connector": ("RuntimeManager", "refresh_integration_connector"),
    "restart_connector": ("RuntimeManager", "restart_connector"),
    "server_report": ("RuntimeManager", "get_server_report"),
    "engine_actions": ("AutomatedCuration", "find_engine_actions"),
    "approved_actions": ("GovernanceEngine", "get_approved_engine_actions"),
}
"""The calls that may be made: their name here, pyegeria's class and its method."""

MODULES = {
    "AssetMaker": "asset_maker",
    "AutomatedCuration": "automated_curation",
    "ClassificationExplorer": "classification_explorer",
    "DataDiscovery": "data_discovery",
    "GovernanceEngine": "governance_engine",
    "LineageLinker": "lineage_linker",
    "MetadataExpert": "metadata_expert",
    "RuntimeManager": "runtime_manager",
}


class Refused(Exception):
    """An answer that is no error to pyegeria, and one to us: the kind, and what to tell of it."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class Clients:
    """pyegeria's clients for one view server, made when they are first needed, with one token."""

    def __init__(self, settings: dict[str, Any]) -> None:
        import pyegeria.core._base_platform_client as platform_client
        import pyegeria.core._base_server_client as server_client

        # pyegeria's own constant is False, and there is no argument for it; httpx takes a context in its place.
        verify: bool | ssl.SSLContext = False
        if settings["verify_tls"]:
            verify = ssl.create_default_context(cafile=settings.get("ca_file") or None)
        server_client.enable_ssl_check = verify
        platform_client.enable_ssl_check = verify
        _check_every_token(server_client.BaseServerClient)
        self._settings = settings
        self._clients: dict[str, Any] = {}
        self._token: str | None = None
        self._pause = 1 / settings["calls_per_second"]
        self._next_at = 0.0

    def call(self, name: str, arguments: dict[str, Any], pages: bool) -> Any:
        """What the call gives: a GUID, an element, a list of them, or None where there is nothing."""
        if name not in CALLS:
            raise Refused("invalid", f"there is no call {name!r}")
        owner, method = CALLS[name]
        function = getattr(self._client(owner), method)
        return list(self._pages(function, arguments)) if pages else self._once(function, arguments)

    def _pages(self, function: Callable[..., Any], arguments: dict[str, Any]) -> Iterator[Any]:
        size, start = self._settings["page_size"], 0
        while True:
            page = self._once(function, {**arguments, "start_from": start, "page_size": size}) or []
            yield from page
            if len(page) < size:  # the only end that there is: replies do not say how many there are
                return
            start += size

    def _once(self, function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
        time.sleep(max(0.0, self._next_at - time.monotonic()))
        self._next_at = time.monotonic() + self._pause
        try:
            value = function(**arguments)
        except AttributeError as error:
            if "NoneType" in str(error):  # a reply 204, of which pyegeria reads a body
                return None
            raise
        if isinstance(value, str) and value == NOTHING:
            return None
        if isinstance(value, str) and value.startswith("Action not initiated"):
            raise Refused("refused", value)
        return value

    def _client(self, owner: str) -> Any:
        if owner not in self._clients:
            import importlib

            settings = self._settings
            module = importlib.import_module(f"pyegeria.omvs.{MODULES[owner]}")
            client = getattr(module, owner)(
                settings["view_server"], settings["platform_url"], settings["user"], settings["password"], self._token
            )
            client.timeout = settings["timeout"]
            if self._token is None:
                self._token = client.create_egeria_bearer_token(settings["user"], settings["password"])
            self._clients[owner] = client
        return self._clients[owner]


def _check_every_token(client: Any) -> None:
    """Have pyegeria take for a token only what can be one: it does not look at the status of the reply.

    So an error's text would be sent as the token of all later calls, and `FAILED` where nobody answered.
    """
    original = client._async_create_egeria_bearer_token
    if getattr(original, "checks", False):
        return

    async def create(self: Any, *arguments: Any, **more: Any) -> str:
        before = dict(self.headers), dict(self.text_headers)
        token = str(await original(self, *arguments, **more))
        if token == "FAILED":  # noqa: S105  # pyegeria's word where nobody answered
            raise Refused("unreachable", "Egeria did not answer when asked for a token")
        if not re.fullmatch(r"[A-Za-z0-9._~+/=-]{8,}", token):
            self.headers, self.text_headers = before
            advice = "are the view server, the user and the password right?"
            raise Refused("unauthorized", f"{_reason(token)} ({advice})")
        return token

    create.checks = True  # type: ignore[attr-defined]
    client._async_create_egeria_bearer_token = create


def _reason(text: str) -> str:
    """What an answer says, where it is one of Egeria's."""
    with contextlib.suppress(ValueError):
        told = json.loads(text)
        if isinstance(told, dict):
            return str(told.get("exceptionErrorMessage") or told.get("message") or told.get("error") or told)[:500]
    return re.sub(r"<[^>]*>|\s+", " ", text).strip()[:200] or "an empty reply"


def told(error: BaseException) -> dict[str, Any]:
    """An error as the other side needs it: what kind, what Egeria says of it, and what it advises."""
    import pyegeria.core._exceptions as raised

    if isinstance(error, Refused):
        return {"kind": error.kind, "text": str(error)}
    for wrapped in (error.__cause__, getattr(error, "e", None)):
        if isinstance(wrapped, Refused):
            return {"kind": wrapped.kind, "text": str(wrapped)}
    more = getattr(error, "additional_info", None) or {}
    text = str(more.get("exceptionErrorMessage") or getattr(error, "message", "") or error)
    known = {
        "text": text,
        "message_id": more.get("exceptionErrorMessageId") or getattr(error, "response_egeria_msg_id", None),
        "user_action": more.get("exceptionUserAction"),
        "code": getattr(error, "related_http_code", None) or getattr(error, "response_code", None),
    }
    if isinstance(error, raised.PyegeriaTimeoutException):
        return {**known, "kind": "unreachable", "text": "Egeria did not answer in time"}
    if isinstance(error, raised.PyegeriaConnectionException):
        return _unreachable(error, known)
    if isinstance(error, raised.PyegeriaUnauthorizedException):
        return {**known, "kind": "unauthorized"}
    if isinstance(error, raised.PyegeriaNotFoundException):
        return {**known, "kind": "not_found"}
    if isinstance(error, raised.PyegeriaClientException):
        return _of_bare_status(error, known, more)
    if isinstance(error, raised.PyegeriaAPIException):
        code = int(known["code"] or 0)
        return {**known, "kind": "failed" if code >= 500 else "refused"}
    if isinstance(error, raised.PyegeriaInvalidParameterException) and error.response is not None:
        return {**known, "kind": "no_json", "text": "the reply is not JSON: is this Egeria's platform URL?"}
    return {**known, "kind": "invalid"}


def _of_bare_status(error: Any, known: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """A status without Egeria's wrapping: an older server that has no such endpoint, a proxy, a crash."""
    response = getattr(error, "response", None)
    code = int(getattr(response, "status_code", 0) or known["code"] or 0)
    if not code:  # the connection ended before a reply
        return _unreachable(error, known)
    text = f"HTTP {code}: {_reason(str(more.get('reason', '')))}"
    kind = {404: "no_endpoint", 405: "no_endpoint", 429: "failed"}.get(code, "failed" if code >= 500 else "refused")
    return {**known, "kind": kind, "code": code, "text": text}


def _unreachable(error: BaseException, known: dict[str, Any]) -> dict[str, Any]:
    """The innermost causes, which pyegeria's own text does not say: above all, a certificate that is not trusted."""
    seen: list[str] = []
    step: BaseException | None = getattr(error, "e", None) or error.__cause__ or error.__context__
    while step is not None and len(seen) < 9:
        seen.append(str(step))
        step = step.__cause__ or step.__context__
    if certificate := next((each for each in seen if "CERTIFICATE" in each.upper()), None):
        return {**known, "kind": "certificate", "text": certificate}
    return {**known, "kind": "unreachable", "text": next(filter(None, seen), "no connection")}


def _private_channel() -> IO[str]:
    """Where answers go. pyegeria prints; what it prints goes where errors go."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def main() -> None:
    """Answer until nobody asks any more."""
    answers, questions = _private_channel(), sys.stdin
    settings = json.loads(questions.readline())
    for name in [name for name in os.environ if name.startswith(("EGERIA_", "PYEGERIA_"))]:
        del os.environ[name]  # pyegeria reads these, and a .env and a config.json of the directory that it starts in
    with tempfile.TemporaryDirectory() as nowhere:
        os.chdir(nowhere)
        _answer(settings, questions, answers)


def _answer(settings: dict[str, Any], questions: IO[str], answers: IO[str]) -> None:
    egeria: Clients | None = None
    for line in questions:
        asked = json.loads(line)
        try:
            egeria = egeria or Clients(settings)
            reply = {"value": egeria.call(asked["call"], asked["with"], asked.get("pages", False))}
        except ImportError as error:
            reply = {"error": {"kind": "absent", "text": str(error)}}
        except OSError as error:  # before any call: pyegeria wraps those of calls
            reply = {"error": {"kind": "ca_file", "text": f"{error.strerror or error}"}}
        except Exception as error:  # pyegeria raises what it likes, and the next call may be made all the same
            reply = {"error": told(error)}
        answers.write(json.dumps(reply, default=str) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
