"""A target of forwarding: where to, as whom, which events, how fast; one section ``[forward.NAME]`` of the settings."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError, model_validator

from lineagelog.errors import SettingsError
from lineagelog.settings import expand, read_text
from lineagelog.shown import mask_text
from lineagelog.store.ledgers.forwarding import Selection
from lineagelog.store.upkeep.unforwarded import Wish

RESERVED: Final = frozenset(("run", "status", "parked", "rebase", "forget"))
"""Words of the command line, which no target can be called."""
HOLD_ON: Final = (401, 402, 403, 404, 405, 407, 410, 421, 426, 451)
"""HTTP statuses that speak of the target and not of an event: nothing is parked, the target is asked again later."""

_YEAR: Final = 366 * 86400
"""The longest wait, in seconds: sleeping has an end."""

type UserPath = Annotated[Path, AfterValidator(expand)]


class TargetKind(StrEnum):
    """What a target is."""

    OPENLINEAGE = "openlineage"
    EGERIA = "egeria"
    KAFKA = "kafka"
    FILE = "file"


class BatchForm(StrEnum):
    """How events are sent together to an OpenLineage endpoint."""

    AUTO = "auto"
    """As an array; one by one where that is refused and single events are taken, which is learnt and remembered."""
    ARRAY = "array"
    """A bare array, as the OpenLineage specification has it."""
    EVENTS = "events"
    """``{"events": […]}``, as OpenMetadata has it."""
    NEVER = "never"


class _TargetPart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True, allow_inf_nan=False)


class Auth(_TargetPart):
    """As whom: a secret is given as it is, or as the name of a file or of an environment variable that has it."""

    type: Literal["bearer", "api_key", "oauth2", "egeria"]
    secret: SecretStr | None = None
    secret_file: UserPath | None = None
    secret_env: str | None = None
    header: str = "X-API-Key"
    """Of an API key."""
    token_url: str | None = None
    """Of OAuth's client credentials, and of Egeria's platform token (``…/servers/VIEW-SERVER/api/token``)."""
    client_id: str | None = None
    """OAuth's client, or Egeria's user."""
    scope: str | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if sum(value is not None for value in (self.secret, self.secret_file, self.secret_env)) != 1:
            raise ValueError("one of secret, secret_file, secret_env is needed")
        if self.type in ("oauth2", "egeria") and not (self.token_url and self.client_id):
            raise ValueError(f"type {self.type!r} needs token_url and client_id")
        return self

    def read(self) -> str:
        """The secret. Raises SettingsError if its file or variable cannot be read."""
        if self.secret is not None:
            return self.secret.get_secret_value()
        if self.secret_file is not None:
            return read_text(self.secret_file, f"the secret file {self.secret_file}").strip()
        value = os.environ.get(self.secret_env or "")
        if not value:
            raise SettingsError(f"the variable {self.secret_env}, which is to hold a secret, is not set")
        return value


class ForwardTarget(_TargetPart):
    """Everything that can be set for a target."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    url: Annotated[str, Field(min_length=1)]
    """``https://…`` the endpoint for single events; ``kafka://HOST:PORT,…/TOPIC``; else the path of a file."""
    kind: TargetKind = TargetKind.OPENLINEAGE
    auth: Auth | None = None
    headers: Mapping[str, str] = {}
    ca_file: UserPath | None = None
    """Certificates to trust instead of the system's."""
    kafka: Mapping[str, str | int | bool] = {}
    """Settings of librdkafka, such as ``security.protocol``."""

    namespaces: tuple[str, ...] = ()
    """Patterns with ``*`` and ``?``; with ``!`` before it, of what is left out. The same for jobs and types."""
    jobs: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    """Event types, such as COMPLETE; '' for job and dataset events."""
    kinds: tuple[Literal["run", "job", "dataset"], ...] = ()
    redact: bool = True
    """Whether credentials are masked. Without, events go out as they were received."""
    max_event_bytes: Annotated[int, Field(ge=1)] | None = None
    """Larger events are parked."""

    batch: BatchForm = BatchForm.AUTO
    batch_url: str | None = None
    """Where batches go, else ``url`` followed by ``/batch``."""
    batch_size: Annotated[int, Field(ge=1, le=10_000)] = 500
    in_flight: Annotated[int, Field(ge=1, le=64)] = 2
    """Requests at the same time. Events of one run always go one after the other."""
    rate: Annotated[float, Field(gt=0, le=1e9)] | None = None
    """Events per second, at most."""
    gzip: bool = False
    timeout: Annotated[float, Field(gt=0, le=_YEAR)] = 30.0
    """Seconds that an answer may take."""

    retry_first: Annotated[float, Field(gt=0, le=_YEAR)] = 0.5
    """Seconds before the first retry, doubled (and spread at random) for each further one …"""
    retry_last: Annotated[float, Field(gt=0, le=_YEAR)] = 60.0
    """… up to these."""
    attempts: Annotated[int, Field(ge=0)] = 10
    """An event that the target fails on (500) so often is parked; 0 = never."""
    give_up: Annotated[float, Field(gt=0, le=_YEAR)] = 300.0
    """Seconds without a success after which a forward that does not follow ends."""
    hold_on: tuple[int, ...] = HOLD_ON

    start: Literal["beginning", "now"] = "beginning"
    """Where a new target begins: with all that is stored, or with what arrives from now on."""
    poll: Annotated[float, Field(gt=0, le=_YEAR)] = 1.0
    """Seconds between two looks for new events when following."""
    follow: bool = False
    """Whether `serve` follows the log for this target."""
    interval: Annotated[float, Field(gt=0, le=_YEAR)] | None = None
    """Seconds between two forwards of `serve`, which then does not follow."""

    @model_validator(mode="before")
    @classmethod
    def _kind_of_url(cls, values: Any) -> Any:
        if isinstance(values, dict) and isinstance(values.get("url"), str) and "kind" not in values:
            scheme = urlsplit(values["url"]).scheme.lower()
            kind = {"http": TargetKind.OPENLINEAGE, "https": TargetKind.OPENLINEAGE, "kafka": TargetKind.KAFKA}.get(
                scheme, TargetKind.FILE
            )
            return values | {"kind": kind}
        return values

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.name in RESERVED:
            raise ValueError(f"a target cannot be called {self.name!r}: it is a word of the command line")
        if self.follow and self.interval is not None:
            raise ValueError("one of follow and interval, not both")
        scheme = urlsplit(self.url).scheme.lower()
        if self.kind in (TargetKind.OPENLINEAGE, TargetKind.EGERIA) and (
            scheme not in ("http", "https") or not urlsplit(self.url).hostname
        ):
            raise ValueError("url must be like https://host/api/v1/lineage")
        if self.kind is TargetKind.KAFKA:
            _ = self.kafka_place
        if self.kind is TargetKind.FILE:
            _ = self.path
        if self.kind is TargetKind.FILE and (scheme not in ("", "file") or "://" in self.url.removeprefix("file://")):
            raise ValueError(f"url has the unknown scheme {scheme!r}: http, https, kafka, or the path of a file")
        return self

    @property
    def is_served(self) -> bool:
        """Whether `serve` forwards to it."""
        return self.follow or self.interval is not None

    @property
    def shown_url(self) -> str:
        """The URL without its password, for people."""
        return mask_text(self.url)

    @property
    def path(self) -> Path:
        """Where a target of kind `file` writes."""
        return expand(Path(re.sub(r"^file:(//(localhost)?(?=/))?", "", self.url)))

    @property
    def kafka_place(self) -> tuple[str, str]:
        """Bootstrap servers and topic."""
        match = re.fullmatch(r"kafka://([^/?#\s]+)/([A-Za-z0-9._\-]{1,249})", self.url)
        if match is None:
            raise ValueError("url must be like kafka://host:9092,other:9092/topic")
        return match[1], match[2]

    @property
    def selection(self) -> Selection:
        """The patterns as the store wants them."""
        namespaces, not_namespaces = _patterns(self.namespaces)
        jobs, not_jobs = _patterns(self.jobs)
        types, not_types = _patterns(tuple(each.upper() for each in self.types))
        return Selection(namespaces, not_namespaces, jobs, not_jobs, types, not_types, self.kinds)


def read_target(name: str, values: Mapping[str, Any]) -> ForwardTarget:
    """The target of a section of the settings. Raises SettingsError that names the key; values are not shown."""
    try:
        return ForwardTarget(**{**values, "name": name})
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        key = ".".join(["forward", name, *map(str, first["loc"])])
        if first["type"] == "extra_forbidden":
            raise SettingsError(f"unknown key {key!r}") from error
        text = first["msg"].removeprefix("Value error, ")
        raise SettingsError(f"{key!r}: {text[:1].lower()}{text[1:]}") from error


def find_target(name: str, sections: Mapping[str, Mapping[str, Any]]) -> ForwardTarget:
    """The target of that name, or of that URL or path where no section is needed.

    Raises SettingsError if it is neither.
    """
    if name in sections:
        return read_target(name, sections[name])
    if "/" in name or "." in name:
        return read_target(mask_text(name), {"url": name})
    known = ", ".join(sorted(sections)) or "none"
    raise SettingsError(f"there is no target {name!r}: settings section [forward.{name}] (there are: {known})")


def _patterns(given: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Wanted and unwanted, as LIKE patterns."""
    wanted = tuple(_like(each) for each in given if not each.startswith("!"))
    return wanted, tuple(_like(each[1:]) for each in given if each.startswith("!"))


def _like(pattern: str) -> str:
    escaped = re.sub(r"([\\%_])", r"\\\1", pattern)
    return escaped.replace("*", "%").replace("?", "_")


def wishes_of(sections: Mapping[str, Mapping[str, Any]]) -> dict[str, Wish]:
    """What the targets of the settings are to get, for a purge. Raises SettingsError for what is wrong in a section."""
    targets = [read_target(name, values) for name, values in sections.items()]
    return {target.name: Wish(target.selection, target.start == "beginning") for target in targets}
