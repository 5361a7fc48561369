"""What one configured Snap does, as a value, and what its settings are read with."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .accounts import AccountBook
from .classes import Role
from .document import ExportNote, Node, Setting
from .expression import MAPPING, UNKNOWN, Expression, evaluate, read_expression
from .names import DatasetName, Naming
from .paths import ROOT, Path, parse_path

if TYPE_CHECKING:
    from collections.abc import Mapping

_PARAMETER = re.compile(r"_\w+")
_CALL = re.compile(r"[A-Za-z][\w.]*\s*\(")
_DYNAMIC = re.compile(r"\.?\[\(\s*_(\w+)\s*\)\]")


@dataclass(frozen=True, slots=True)
class Assignment:
    """One output column: where it goes, which input fields make it, and how.

    `subtype` is OpenLineage's (IDENTITY, TRANSFORMATION, AGGREGATION); `type` is a type name where the
    settings tell it; `conditions` are fields that decide about the value without being in it.
    """

    target: Path
    reads: tuple[Path, ...] = ()
    description: str = ""
    subtype: str = "TRANSFORMATION"
    type: str = ""
    conditions: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Use:
    """A field that decides about whole documents; `subtype`: FILTER, SORT, JOIN, GROUP_BY or CONDITIONAL."""

    path: Path
    subtype: str


@dataclass(frozen=True, slots=True)
class JoinOn:
    """A row of a Join: fields of the left and of the right input (none for a constant), and the label of the right
    input's view."""

    left: tuple[Path, ...]
    right: tuple[Path, ...]
    view: str


@dataclass(frozen=True, slots=True)
class SqlColumn:
    """A column that a statement gives back or writes: columns of tables, and fields of the document (`reads`)."""

    target: Path
    sources: tuple[tuple[DatasetName, str], ...] = ()
    reads: tuple[Path, ...] = ()
    description: str = ""
    subtype: str = "IDENTITY"


@dataclass(frozen=True, slots=True)
class Rule:
    """What a Snap does. `columns`: what its source or target is known to have; `closed`: and nothing else.

    `passes`: input fields go on beside the mapped ones. `root`: the mapping root. `payload`: what a producer
    sends (None = all). `split`, `includes` and `parents`: the paths of a JSON Splitter, and
    whether it keeps what is around them. `wrap`: the field under which whole documents go (none: the label of their
    view). `more`: other fields come out, too, of which nothing is known.
    `guards`: fields that the Snap asks for before it uses them. `child`: the name of the
    pipeline that a Pipeline Execute runs. Of a statement: `results` are the columns that come back, `rest` the tables
    whose other columns do, too (`*`), `written` the columns of each table that it writes.
    """

    role: Role
    assignments: tuple[Assignment, ...] = ()
    deletes: tuple[Path, ...] = ()
    passes: bool = False
    root: Path = ROOT
    uses: tuple[Use, ...] = ()
    joins: tuple[JoinOn, ...] = ()
    columns: tuple[Assignment, ...] = ()
    closed: bool = False
    reads: tuple[DatasetName, ...] = ()
    writes: tuple[DatasetName, ...] = ()
    payload: tuple[Path, ...] | None = None
    split: Path = ROOT
    includes: tuple[Path, ...] = ()
    parents: bool = False
    wrap: Path = ROOT
    more: bool = False
    guards: frozenset[Path] = frozenset()
    child: str = ""
    results: tuple[SqlColumn, ...] = ()
    rest: tuple[DatasetName, ...] = ()
    written: Mapping[DatasetName, tuple[SqlColumn, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Context:
    """What a Snap's settings are read with: parameters of the run, accounts, naming, columns that a person
    told."""

    parameters: Mapping[str, str]
    accounts: AccountBook
    naming: Naming
    columns: Mapping[str, tuple[str, ...]]
    findings: list[ExportNote] = field(default_factory=list)
    guards: set[Path] = field(default_factory=set)

    def known_columns(self, database: str) -> dict[str, tuple[str, ...]]:
        """The columns that a person told, by each name that a statement may call their table."""
        inside = {name.removeprefix(f"{database}."): columns for name, columns in self.columns.items() if database}
        return {**inside, **self.columns}

    def warn(self, node: Node, message: str) -> None:
        """Note a finding at a place of a file."""
        self.findings.append(ExportNote(node.file, node.place, message))

    def resolve(self, node: Node) -> str:
        """A setting's text, parameters filled in; "" (and a finding) when only the run's documents could
        tell."""
        setting = node.setting()
        text = setting.text if not setting.expression else self._resolved(setting.text)
        if text is None or UNKNOWN in text:
            self.warn(node, f"{setting.text!r} cannot be resolved from the parameters of the run; left out")
            return ""
        return text

    def _resolved(self, text: str) -> str | None:
        value = evaluate(text, self.parameters)
        is_quoted = value is None and text[:1] in ('"', "`", "[") and not set(text) & set("$+(?")
        return text if is_quoted else value

    def expression(self, node: Node) -> Expression:
        """The facts of a setting that is an expression; a literal has none."""
        setting = node.setting()
        return self.facts(node, setting) if setting.expression else Expression()

    def paths(self, node: Node) -> tuple[Path, ...]:
        """The fields that a setting names: a path, or an expression such as `jsonPath($, "$.a[*].b")`; none for a
        constant."""
        setting = node.setting()
        text = setting.text.strip()
        if setting.expression and _PARAMETER.fullmatch(text):
            text = self.resolve(node)
        elif setting.expression or _CALL.match(text):
            return tuple(path for path in self.facts(node, setting).reads if path)
        path = parse_path(_DYNAMIC.sub(self._filled, text))
        return (path,) if path else ()

    def path(self, node: Node) -> Path:
        """The one field that a setting names; the whole document when it names none."""
        return next(iter(self.paths(node)), ROOT)

    def _filled(self, match: re.Match[str]) -> str:
        return f"[{self.parameters.get(match[1], '')!r}]"

    def condition(self, node: Node) -> Expression:
        """The facts of a setting that can only be an expression, marked as one or not."""
        return self.facts(node, node.setting())

    def facts(self, node: Node, setting: Setting) -> Expression:
        """The facts of an expression; a finding when it could not be parsed."""
        if not setting.text.strip():
            return Expression()
        found = read_expression(setting.text)
        self.guards.update(found.guards)
        if found.problem:
            self.warn(node, f"expression not understood ({found.problem}); its fields were found word by word")
        return found


def identity(path: Path) -> Assignment:
    """A field that goes through unchanged."""
    return Assignment(path, (path,), MAPPING, "IDENTITY")


def only(row: Node, *known: str) -> Node:
    """The cell of a row whose keys are not documented: a known one, else the first that names a field, else the first
    text."""
    if not isinstance(row.value, dict) or row.has("value"):
        return row
    cells = [row.get(key) for key in known if row.has(key)] or [cell for _, cell in row.items()]
    texts = [cell for cell in cells if isinstance(cell.unwrap().value, str) and cell.unwrap().value.strip()]
    named = [cell for cell in texts if cell.unwrap().value.strip().startswith("$")]
    return next(iter([*named, *texts]), Node(row.file, row.place, None))
