"""What a team decides before an export: namespaces, naming, kind and time of the events."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from lineagelog.errors import SettingsError

if TYPE_CHECKING:
    from datetime import datetime

PRODUCER = "https://github.com/EqualExperts/satsuma-lang"
JOB_NAMESPACE = "satsuma://workspace"
NAMING = "[namespace.]schema"
EVENT_KINDS = ("complete", "start-complete", "job")
_KEYWORD = re.compile(r"(?<![A-Za-z0-9_])(database|namespace|schema|table)(?![A-Za-z0-9_])")
_GROUP = re.compile(r"\[([^\[\]]*)\]")


@dataclass(frozen=True, slots=True)
class NamespaceRule:
    """Schemas whose key, name or Satsuma namespace matches the pattern live in this dataset namespace."""

    pattern: str
    namespace: str

    def matches(self, key: str) -> bool:
        """Whether a schema `namespace::name` is meant."""
        scope, _, name = key.rpartition("::")
        return any(fnmatchcase(text, self.pattern) for text in (key, name, scope) if text)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """How specs become events. Raises SettingsError for a value that cannot be used.

    `event_time` needs an offset from UTC. `naming` is a pattern of the words `database`, `namespace` and
    `schema` (or `table`: then `schema` is the Satsuma namespace); what is in `[ ]` is left out when empty.
    """

    event_time: datetime
    dataset_namespace: str | None = None
    namespace_rules: tuple[NamespaceRule, ...] = ()
    job_namespace: str = JOB_NAMESPACE
    naming: str = NAMING
    database: str | None = None
    event_kind: str = "complete"
    producer: str = PRODUCER
    consumer_namespaces: tuple[tuple[str, str], ...] = ()
    standalone_consumers: bool = False
    standalone_schemas: bool = False

    def __post_init__(self) -> None:
        if self.event_time.tzinfo is None:
            raise SettingsError("the event time needs an offset from UTC, as in 2025-01-31T06:00:00Z")
        if self.event_kind not in EVENT_KINDS:
            raise SettingsError(f"the event kind '{self.event_kind}' is none of {', '.join(EVENT_KINDS)}")
        if not self.job_namespace.strip():
            raise SettingsError("the job namespace is empty")
        check_uri(self.producer, "producer")
        _check_naming(self.naming, self.database)

    def namespace_of(self, key: str, tool: str | None) -> str | None:
        """The dataset namespace of a schema; `tool` is that of a report or model. None if no option says."""
        for name, namespace in self.consumer_namespaces:
            if tool is not None and name.casefold() == tool.casefold():
                return namespace
        rule = next((rule for rule in self.namespace_rules if rule.matches(key)), None)
        return rule.namespace if rule is not None else self.dataset_namespace

    def dataset_name(self, key: str) -> str:
        """The dataset name of a schema `namespace::name`."""
        return _render(self.naming, key, self.database or "")


def check_uri(text: str, what: str) -> None:
    """Raise SettingsError unless the text is an absolute URI."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+", text):
        raise SettingsError(f"the {what} '{text}' is not a URI such as {PRODUCER}")


def namespace_options(values: tuple[str, ...]) -> tuple[str | None, tuple[NamespaceRule, ...]]:
    """Read `namespace` and `pattern=namespace` options into (default, rules). Raises SettingsError."""
    default: str | None = None
    rules: list[NamespaceRule] = []
    for value in values:
        pattern, mark, namespace = value.partition("=")
        if not mark or "://" in pattern:
            if default is not None and default != value:
                raise SettingsError(f"there are two dataset namespaces for everything: '{default}' and '{value}'")
            default = value
        else:
            rules.append(NamespaceRule(pattern.strip(), namespace.strip()))
    for namespace in (*([default] if default is not None else []), *(rule.namespace for rule in rules)):
        if not namespace.strip():
            raise SettingsError("a dataset namespace is empty")
    return default, tuple(rules)


def consumer_options(values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Read `tool=namespace` options. Raises SettingsError."""
    pairs: list[tuple[str, str]] = []
    for value in values:
        tool, mark, namespace = value.partition("=")
        if not mark or not tool.strip() or not namespace.strip():
            raise SettingsError(f"'{value}' is not tool=namespace, as in looker=looker://instance")
        pairs.append((tool.strip(), namespace.strip()))
    return tuple(pairs)


def needs_database(naming: str) -> bool:
    """Whether a naming pattern asks for the name of a database."""
    return any(word == "database" for word in _KEYWORD.findall(naming))


def _check_naming(naming: str, database: str | None) -> None:
    plain = _GROUP.sub("", naming)
    if "[" in plain or "]" in plain:
        raise SettingsError(f"the naming pattern '{naming}' has an unmatched or nested bracket")
    words = set(_KEYWORD.findall(plain))
    if not words & {"schema", "table"} or (words == {"schema"} and "table" in _KEYWORD.findall(naming)):
        raise SettingsError(f"the naming pattern '{naming}' lacks the word 'schema' outside of brackets")
    if needs_database(naming) and not database:
        raise SettingsError(f"the naming pattern '{naming}' needs the name of the database")


def _render(naming: str, key: str, database: str) -> str:
    scope, _, name = key.rpartition("::")
    values = {"database": database, "namespace": scope, "schema": name, "table": name}
    if "table" in _KEYWORD.findall(naming):
        values["schema"] = scope

    def group(found: re.Match[str]) -> str:
        return found[1] if all(values[word] for word in _KEYWORD.findall(found[1])) else ""

    parts = (_KEYWORD.sub(lambda word: values[word[1]], part) for part in _GROUP.sub(group, naming).split("."))
    return ".".join(part for part in parts if part)
