"""All settings in one frozen value: defaults, then a TOML file, then `LINEAGELOG_*` variables, then options."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict
from pydantic_settings.exceptions import SettingsError as UnreadableVariable

from lineagelog.errors import SettingsError

CONFIG_VARIABLE: Final = "LINEAGELOG_CONFIG"
_PREFIX: Final = "LINEAGELOG_"
_MIB: Final = 1024 * 1024
_PYTHON_WORDS: Final = re.compile(r" or instance of \w+| for <class '[\w.]+'>")


def expand(path: Path) -> Path:
    """The path with the home folder for ``~``. Raises ValueError where there is none."""
    try:
        return path.expanduser()
    except RuntimeError:
        raise ValueError(f"there is no home folder for {path.parts[0]}") from None


type UserPath = Annotated[Path, AfterValidator(expand)]


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


class _Group(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True, allow_inf_nan=False)


class ServerSettings(_Group):
    """Where and how `lineagelog serve` listens."""

    host: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 5000
    tls_cert: UserPath | None = None
    tls_key: UserPath | None = None
    max_request_mib: Annotated[int, Field(ge=1, le=1024)] = 64
    max_request_events: Annotated[int, Field(ge=1, le=1_000_000)] = 50_000
    cors_origins: tuple[str, ...] = ()
    host_names: tuple[str, ...] = ()
    stop_seconds: Annotated[int, Field(ge=1, le=3600)] = 30
    page: bool = True
    """Whether the web page is at ``/``."""


class IntakeSettings(_Group):
    """How events are parsed and batched on their way in."""

    batch: Annotated[int, Field(ge=1, le=10_000)] = 500
    writers: Annotated[int, Field(ge=1, le=64)] = 2
    queue: Annotated[int, Field(ge=1)] = 20_000
    max_event_mib: Annotated[int, Field(ge=1, le=256)] = 32
    max_event_values: Annotated[int, Field(ge=1000)] = 1_000_000
    strict: bool = False

    @property
    def max_event(self) -> int:
        """The limit of one event, in bytes."""
        return self.max_event_mib * _MIB


class ConsumeSettings(_Group):
    """What `lineagelog consume` reads from Kafka, and how."""

    brokers: str = ""
    topics: tuple[str, ...] = ()
    group: Annotated[str, Field(min_length=1)] = "lineagelog"
    workers: Annotated[int, Field(ge=1, le=64)] = 1
    batch: Annotated[int, Field(ge=1, le=10_000)] = 500
    batch_mib: Annotated[int, Field(ge=1, le=1024)] = 32
    linger: Annotated[float, Field(ge=0, le=60)] = 0.1
    offset_reset: Annotated[Literal["earliest", "latest"], BeforeValidator(_lower)] = "earliest"
    start_timeout: Annotated[float, Field(ge=0, le=3600)] = 30
    metrics_host: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    metrics_port: Annotated[int, Field(ge=0, le=65535)] | None = None
    kafka_file: UserPath | None = None
    kafka: Mapping[str, str | int | float | bool] = {}
    """Settings of librdkafka."""


class DaemonSettings(_Group):
    """What `lineagelog daemon` starts, and how its connectors keep events."""

    platform: UserPath | None = None
    java: UserPath | None = None
    jvm_options: tuple[str, ...] = ()
    main_class: str | None = None
    arguments: tuple[str, ...] = ()
    loader_path: tuple[UserPath, ...] = ()
    working_dir: UserPath | None = None
    spool_dir: UserPath | None = None
    spool_mib: Annotated[int, Field(ge=1, le=1_048_576)] = 1024
    wait_seconds: Annotated[float, Field(ge=0, le=3600)] = 10.0
    stop_seconds: Annotated[int, Field(ge=2, le=600)] = 8
    metrics_host: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    metrics_port: Annotated[int, Field(ge=0, le=65535)] | None = None


class EgeriaSettings(_Group):
    """Where Egeria is, for publishing through pyegeria."""

    platform_url: str | None = None
    view_server: Annotated[str, Field(min_length=1)] = "view-server"
    daemon: Annotated[str, Field(min_length=1)] | None = None
    """The integration daemon: the name of its server, or its GUID."""
    user: str | None = None
    password_file: UserPath | None = None
    ca_file: UserPath | None = None
    verify_tls: bool = True
    python: UserPath | None = None
    """Of an environment that has pyegeria; else this one's."""
    timeout: Annotated[float, Field(gt=0, le=3600)] = 30.0
    calls_per_second: Annotated[float, Field(gt=0, le=1000)] = 20.0
    page_size: Annotated[int, Field(ge=1, le=10_000)] = 100
    publish: bool = False
    """Whether `serve` publishes in the background."""
    publish_seconds: Annotated[float, Field(ge=1, le=31_536_000)] = 3600.0
    analyses: tuple[str, ...] = ("run_profile", "data_scope", "quality_summary")
    incidents: bool = False
    reports_kept: Annotated[int, Field(ge=1, le=10_000)] = 7
    engine_action_url: Annotated[str, Field(pattern=r"^https?://")] | None = None
    """Where people look at an engine action, ``{guid}`` in it: what the web page links to."""


class AnalyseSettings(_Group):
    """How analyses run."""

    time_limit: Annotated[float, Field(gt=0, le=86_400)] = 300.0
    """Seconds for one analysis."""
    rules: tuple[Mapping[str, Any], ...] = ()
    """Of single jobs and datasets; `analysis.rules.SubjectRule` knows what is in them."""
    window: Annotated[str, Field(pattern=r"^[1-9][0-9]{0,4}[smhdw]$")] = "7d"
    """Of the runs of the schedule: so long before now."""
    schedule: Mapping[str, str] = {}
    """Intervals by the names of analyses; `findings.schedule.read_schedule` knows what is in it."""


class NotifySettings(_Group):
    """The webhook that is told what becomes of findings."""

    url: str | None = None
    url_file: UserPath | None = None
    """Where the URL itself is a secret."""
    form: Annotated[Literal["json", "slack"], BeforeValidator(_lower)] = "json"
    secret_file: UserPath | None = None
    severity: Annotated[Literal["low", "medium", "high", "critical"], BeforeValidator(_lower)] = "low"
    """The least that is told."""
    timeout: Annotated[float, Field(gt=0, le=600)] = 10.0

    @property
    def is_wanted(self) -> bool:
        """Whether there is a webhook."""
        return self.url is not None or self.url_file is not None


class LogSettings(_Group):
    """What the program says about its own work."""

    level: Annotated[Literal["debug", "info", "warning", "error"], BeforeValidator(_lower)] = "info"
    format: Annotated[Literal["auto", "console", "json"], BeforeValidator(_lower)] = "auto"


class Settings(BaseSettings):
    """Everything that can be set. Made by `load_settings`; the constructor takes its arguments and nothing else."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        env_prefix=_PREFIX,
        env_prefix_target="all",
        env_nested_delimiter="__",
        env_ignore_empty=True,
        str_strip_whitespace=True,
    )

    database: str | None = None
    database_password_file: UserPath | None = None
    schema_name: Annotated[str, Field(alias="schema")] = "openlineage"
    data_dir: UserPath | None = None
    server: ServerSettings = ServerSettings()
    intake: IntakeSettings = IntakeSettings()
    consume: ConsumeSettings = ConsumeSettings()
    daemon: DaemonSettings = DaemonSettings()
    analyse: AnalyseSettings = AnalyseSettings()
    notify: NotifySettings = NotifySettings()
    egeria: EgeriaSettings = EgeriaSettings()
    log: LogSettings = LogSettings()
    forward: Mapping[str, Mapping[str, Any]] = {}
    """Targets of forwarding by name; `forward.target.read_target` knows what is in them."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003  # the names are pydantic's
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what is passed in: `load_settings` reads the other sources itself, to name them in errors."""
        return (init_settings,)


def load_settings(config: Path | None = None, options: Mapping[str, Any] | None = None) -> Settings:
    """Read the settings of this process; ``options`` (from the command line, keys as in the file) win over all.

    Raises SettingsError that names the key and where it was set: the file, the variable or the option.
    """
    file = config_file(config)
    layers = {
        "option": _given(options or {}),
        "variable": _from_environment(),
        "file": _from_file(file) if file else {},
    }
    merged: dict[str, Any] = {}
    for layer in reversed(layers.values()):
        merged = _merge(merged, layer)
    try:
        return Settings(**merged)
    except ValidationError as error:
        raise SettingsError(_explain(error, layers, file)) from error


def override(settings: Settings, options: Mapping[str, Any]) -> Settings:
    """The settings with some from the command line, nested as in the file; those that are None stay as they are.

    Raises SettingsError that names the option.
    """
    given = _given(options)
    try:
        return Settings(**_merge(settings.model_dump(by_alias=True), given))
    except ValidationError as error:
        raise SettingsError(_explain(error, {"option": given}, None)) from error


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    found = {key: _given(value) if isinstance(value, Mapping) else value for key, value in options.items()}
    return {key: value for key, value in found.items() if value is not None}


def config_file(chosen: Path | None = None) -> Path | None:
    """The file to read: the chosen one, `LINEAGELOG_CONFIG`, ./lineagelog.toml or the user's, else None.

    Raises SettingsError if a chosen one is not there.
    """
    named = chosen or (Path(value) if (value := os.environ.get(CONFIG_VARIABLE)) else None)
    if named is not None:
        if not is_file(named):
            problem = "is a folder" if is_folder(named) else "is not there"
            raise SettingsError(f"the settings file {named} {problem}")
        return named
    home = os.environ.get("XDG_CONFIG_HOME", "")
    places = [Path("lineagelog.toml")]
    with suppress(ValueError):  # no home
        user = Path(home) if home.startswith("/") else expand(Path("~/.config"))
        places.append(user / "lineagelog" / "config.toml")
    return next((place for place in places if place.is_file()), None)


def template_text() -> str:
    """The settings file with every key explained, `config/lineagelog.toml`."""
    package = Path(__file__).parent
    places = (package / "config" / "lineagelog.toml", package.parents[1] / "config" / "lineagelog.toml")
    return next(place for place in places if place.is_file()).read_text(encoding="utf-8")


def is_file(path: Path) -> bool:
    """Whether a file is there; no error for a name that none can have."""
    try:
        return path.is_file()
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    """Whether a folder is there; no error for a name that none can have."""
    try:
        return path.is_dir()
    except OSError:
        return False


def read_text(file: Path, label: str) -> str:
    """The text (UTF-8) of a file that a setting names. Raises SettingsError: ``label`` cannot be read, and why."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        cause = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise SettingsError(f"{label} cannot be read: {cause}") from error


def _from_file(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as stream:
            return tomllib.load(stream)
    except OSError as error:
        raise SettingsError(f"the settings file {file} cannot be read: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"the settings file {file} is not valid TOML: {error}") from error


def _from_environment() -> dict[str, Any]:
    try:
        return dict(EnvSettingsSource(Settings)())
    except UnreadableVariable as error:
        named = re.search(r'field "(\w+)"', str(error))
        which = f"{_PREFIX}{named[1].upper()}" if named else "one of them"
        cause = f"{which} must be JSON, or set by key as {_PREFIX}SERVER__PORT=5001"
        raise SettingsError(f"the {_PREFIX}* variables cannot be read: {cause}") from error


def _merge(low: dict[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(low)
    for key, value in high.items():
        below = merged.get(key)
        merged[key] = _merge(below, value) if isinstance(below, dict) and isinstance(value, Mapping) else value
    return merged


def _explain(error: ValidationError, layers: Mapping[str, Mapping[str, Any]], file: Path | None) -> str:
    """One line for the first thing wrong; values are not shown, since one may be a secret."""
    first = error.errors(include_input=False, include_url=False)[0]
    place = [str(part) for part in first["loc"]]
    key = ".".join(place)
    names = {
        "option": f"option --{place[-1].replace('_', '-')}",
        "variable": f"variable {_PREFIX}{'__'.join(place).upper()}",
        "file": f"{file}",
    }
    where = next((names[name] for name, layer in layers.items() if _has(layer, place)), "the settings")
    if first["type"] == "extra_forbidden":
        return f"{where}: unknown key {key!r}"
    said = _PYTHON_WORDS.sub("", first["msg"].removeprefix("Value error, "))
    return f"{where}: {key!r}: {said[:1].lower()}{said[1:]}"


def _has(layer: Mapping[str, Any], place: list[str]) -> bool:
    value: Any = layer
    for part in place:
        if not isinstance(value, Mapping) or part not in value:
            return False
        value = value[part]
    return True
