"""What a connector is told by its connection in Egeria: endpoint, configuration properties, credentials."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, quote, unquote, urlsplit, urlunsplit

import msgspec
from msgspec import Struct

from lineagelog.errors import SettingsError
from lineagelog.settings import expand, read_text

PROPERTIES: Final = (
    "schema",
    "secretsFile",
    "spoolFolder",
    "spoolMaxMegabytes",
    "databaseWaitSeconds",
    "strict",
    "maxEventMegabytes",
)
"""The configuration properties that are read; the Java provider's list says the same."""
_MIB: Final = 1024 * 1024
_JDBC: Final = "jdbc:"
_NOT_PLAIN: Final = re.compile(r"[^a-z0-9]+")


class Defaults(Struct, frozen=True):
    """What the daemon's settings say where a connection says nothing."""

    schema: str
    spool_folder: Path
    spool_max_bytes: int
    wait_seconds: float
    strict: bool
    max_event: int
    """Bytes."""
    max_event_values: int
    """JSON values."""
    own_place: str
    """The daemon's own database in words, without credentials: for connections without an endpoint."""


class Options(Struct, frozen=True):
    """How one connector works. Holds credentials: not for logs."""

    name: str
    address: str | None
    """Database URL with credentials; None: the daemon's own database."""
    place: str
    """The database without credentials, for people."""
    schema: str
    spool_folder: Path
    """This destination's own, so that whoever starts next for it finds what was left."""
    spool_max_bytes: int
    wait_seconds: float
    strict: bool
    max_event: int
    max_event_values: int
    unknown: tuple[str, ...]
    """Properties that nobody here reads: most likely misspelt."""
    secrets: tuple[str, ...]
    """What no text may show."""

    @property
    def destination(self) -> str:
        """Where the events go, for people."""
        return f"{self.place}, schema {self.schema}"

    def hide(self, text: str) -> str:
        """The text without this connector's secrets."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


class _Given(Struct, rename="camel"):
    """The argument of `initialize`."""

    name: str | None = None
    address: str | None = None
    properties: dict[str, Any] | None = None
    user_id: str | None = None
    clear_password: str | None = None
    secured_properties: dict[str, Any] | None = None


def read_options(argument: str, defaults: Defaults) -> Options:
    """The options of a connector from the argument of `initialize` (JSON). Raises SettingsError naming the property."""
    try:
        given = msgspec.json.decode(argument, type=_Given)
    except msgspec.DecodeError as error:
        raise SettingsError(f"the connection cannot be read: {error}") from None
    properties = given.properties or {}
    password = _password(given, properties)
    address = _address(given, password)
    place = defaults.own_place if address is None else place_of(address)
    schema = _text(properties, "schema") or defaults.schema
    folder = _path(_text(properties, "spoolFolder") or defaults.spool_folder, "spoolFolder")
    return Options(
        name=given.name or "lineagelog",
        address=address,
        place=place,
        schema=schema,
        spool_folder=folder / _folder_name(place, schema),
        spool_max_bytes=_whole(properties, "spoolMaxMegabytes", defaults.spool_max_bytes, 1, 1_048_576, _MIB),
        wait_seconds=_seconds(properties, "databaseWaitSeconds", defaults.wait_seconds),
        strict=_flag(properties, "strict", defaults.strict),
        max_event=_whole(properties, "maxEventMegabytes", defaults.max_event, 1, 256, _MIB),
        max_event_values=defaults.max_event_values,
        unknown=tuple(sorted(properties.keys() - set(PROPERTIES))),
        secrets=_secrets(address, password),
    )


def place_of(url: str) -> str:
    """Host, port and database of a URL, without credentials and options; never raises."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2] or ",".join(parse_qs(parts.query).get("host", ["localhost"]))
    return f"{host}{parts.path}"


def _path(text: str | Path, key: str) -> Path:
    try:
        return expand(Path(text))
    except ValueError as error:
        raise SettingsError(f"{key}: {error}") from error


def _password(given: _Given, properties: dict[str, Any]) -> str | None:
    file = _text(properties, "secretsFile")
    if file is not None:
        return read_text(_path(file, "secretsFile"), f"secretsFile: {file}").rstrip("\r\n")
    secured = (given.secured_properties or {}).get("password")
    return given.clear_password or (str(secured) if secured else None)


def _address(given: _Given, password: str | None) -> str | None:
    """The URL of the endpoint with user and password put in where it has none itself."""
    address = (given.address or "").strip()
    if not address:
        return None
    parts = urlsplit(address.removeprefix(_JDBC))
    who, _, where = parts.netloc.rpartition("@")
    options = parse_qs(parts.query)
    if not who and (user := options.get("user", [given.user_id])[0]):
        who = quote(user, safe="")
    if password and ":" not in who and "password" not in options:
        if not who:
            raise SettingsError("the connection has a password and no user: put the user into its endpoint or userId")
        who = f"{who}:{quote(password, safe='')}"
    return urlunsplit(parts._replace(netloc=f"{who}@{where}" if who else where))


def _secrets(address: str | None, password: str | None) -> tuple[str, ...]:
    found = {password}
    if address is not None:
        parts = urlsplit(address)
        coded = parts.netloc.rpartition("@")[0].partition(":")[2]
        found |= {coded, unquote(coded), *parse_qs(parts.query).get("password", [])}
    return tuple(sorted((secret for secret in found if secret), key=len, reverse=True))


def _folder_name(place: str, schema: str) -> str:
    plain = _NOT_PLAIN.sub("-", schema.lower()).strip("-")[:40]
    return f"{plain or 'store'}-{hashlib.sha256(f'{place}\n{schema}'.encode()).hexdigest()[:12]}"


def _text(properties: dict[str, Any], key: str) -> str | None:
    value = properties.get(key)
    return None if value is None or str(value).strip() == "" else str(value).strip()


def _whole(properties: dict[str, Any], key: str, default: int, least: int, most: int, unit: int) -> int:
    text = _text(properties, key)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or not least <= int(text[:12]) <= most:
        raise SettingsError(f"{key}: {text!r} is not a whole number from {least} to {most}")
    return int(text) * unit


def _seconds(properties: dict[str, Any], key: str, default: float) -> float:
    text = _text(properties, key)
    if text is None:
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 3600:
        raise SettingsError(f"{key}: {text!r} is not a number of seconds from 0 to 3600")
    return seconds


def _flag(properties: dict[str, Any], key: str, default: bool) -> bool:
    text = _text(properties, key)
    if text is None:
        return default
    if text.lower() not in ("true", "false"):
        raise SettingsError(f"{key}: {text!r} is neither true nor false")
    return text.lower() == "true"
