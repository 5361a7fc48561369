"""The engine on the `satsuma` command: our parser reads the specs, and the command has to find the same in them.

The command is started once for all specs (`graph`), and again (`validate`) only where it finds errors that we do not.
Its graph has no metadata, no notes, no nested fields and no comments, resolves bare fields to the first source and has
edges for containers: so what is exported comes from our parser, and every schema, mapping and edge that only one of
the two finds is told.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from lineagelog.errors import InputError
from lineagelog.export.satsuma.lexer import NAME
from lineagelog.export.satsuma.lineage import CONTAINERS, Resolver
from lineagelog.export.satsuma.text import SatsumaError
from lineagelog.export.satsuma.tree import SpecProblem, qualified

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from lineagelog.export.satsuma.tree import Arrow, Mapping, Spec
    from lineagelog.export.satsuma.workspace import Engine

type Json = dict[str, Any]
type Edge = tuple[str, str]

COMMAND = "satsuma"
_SYNTAX = frozenset({"parse-error", "missing-node"})
_ANONYMOUS = "<anon>@"
_IMPORTABLE = re.compile(rf"{NAME}::{NAME}|(?!.*::)[^`\\\n]+")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command gave: its exit code and its two texts."""

    code: int
    output: str
    errors: str


class CliEngine:
    """Reads a workspace with `own`, and compares it with what the `satsuma` command finds.

    `run` runs the command with the arguments it is given.
    """

    def __init__(self, run: Callable[[Sequence[str]], Ran], own: Engine) -> None:
        self._run, self._own = run, own

    def read(self, entries: Sequence[str]) -> Spec:
        """Read the files and all that they import. Raises InputError."""
        spec = self._own.read(entries)
        graph: Json = {"nodes": [], "edges": []}
        with _beginnings(entries, spec) as files:
            for file in files:
                found = self._ask("graph", file)
                if found.get("stats", {}).get("errors"):
                    self._raise_syntax_error(file)
                graph = {key: [*graph[key], *found[key]] for key in graph}
        return replace(spec, problems=(*spec.problems, *_differences(spec, graph)))

    def _ask(self, command: str, entry: str) -> Json:
        """Run a command with `--json` and read what it prints."""
        ran = self._run([command, entry, "--json"])
        try:
            answer = json.loads(ran.output)
        except ValueError:
            reason = (ran.errors.strip() or ran.output.strip() or f"exit code {ran.code}").splitlines()[0]
            raise InputError(f"{COMMAND} {command} {entry}: {reason}") from None
        if not isinstance(answer, dict) or "error" in answer:
            reason = answer["error"] if isinstance(answer, dict) else "no JSON object"
            raise InputError(f"{COMMAND} {command} {entry}: {reason}")
        return answer

    def _raise_syntax_error(self, entry: str) -> None:
        """Raise the first error of the command, which does not understand what our parser does."""
        for finding in self._ask("validate", entry).get("findings", []):
            if finding.get("rule") in _SYNTAX:
                place = {"file": finding["file"], "line": int(finding["line"]), "column": int(finding.get("column", 1))}
                raise SatsumaError(f"the {COMMAND} command says: {finding['message']}", **place)


@contextmanager
def _beginnings(entries: Sequence[str], spec: Spec) -> Iterator[list[str]]:
    """The files that the command begins with: the only entry, or one for the moment that imports all the others.

    A file that defines nothing that can be imported is a beginning of its own.
    """
    if len(entries) == 1:
        yield list(entries)
        return
    names: dict[str, str] = {}
    for key, file in spec.names.items():
        if _IMPORTABLE.fullmatch(key):
            names.setdefault(file, key if "::" in key else f"`{key}`")
    lines = [f'import {{ {names[file]} }} from "{Path(file).resolve().as_posix()}"\n' for file in names]
    with TemporaryDirectory(prefix="lineagelog-satsuma-") as folder:
        every = Path(folder) / "all.stm"
        every.write_text("".join(lines), encoding="utf-8")
        yield [*([str(every)] if lines else []), *(file for file in spec.files if file not in names)]


def _differences(spec: Spec, graph: Json) -> Iterator[SpecProblem]:
    """What only one of the two engines finds, each with a place."""
    schemas = {_key(node["id"]): node for node in graph["nodes"] if node["kind"] in ("schema", "metric")}
    for key, node in schemas.items():
        if key not in spec.schemas:
            yield _only_theirs(f"schema '{key}'", node)
    for key, schema in spec.schemas.items():
        if key not in schemas and key not in spec.fragments:
            yield SpecProblem(f"the {COMMAND} command does not find schema '{key}'", schema.file, schema.line)
    yield from _mapping_differences(spec, graph)


def _mapping_differences(spec: Spec, graph: Json) -> Iterator[SpecProblem]:
    theirs = {_mapping_id(node): node for node in graph["nodes"] if node["kind"] == "mapping"}
    edges: dict[str, dict[Edge, int]] = {}
    for edge in graph["edges"]:
        if edge["from"] is not None and edge["to"] is not None:
            found = edges.setdefault(edge["mapping"], {})
            found.setdefault((_plain(edge["from"]), _plain(edge["to"])), edge["line"])
    resolver = Resolver(spec)
    for mapping in spec.mappings:
        node = theirs.pop((mapping.key, mapping.line), None)
        if node is None:
            message = f"the {COMMAND} command does not find {mapping.label}"
            yield SpecProblem(message, mapping.file, mapping.line, mapping.column)
            continue
        yield from _side_differences(mapping, node)
        yield from _edge_differences(mapping, resolver, edges.get(node["id"], {}))
    for node in theirs.values():
        yield _only_theirs(f"mapping '{_key(node['id'])}'", node)


def _side_differences(mapping: Mapping, node: Json) -> Iterator[SpecProblem]:
    for side, keys in (("sources", mapping.sources), ("targets", mapping.targets)):
        found = dict.fromkeys(map(_key, node[side]))
        if set(found) != set(keys):
            message = f"the {COMMAND} command finds other {side} of {mapping.label}: {', '.join(found) or 'none'}"
            yield SpecProblem(message, mapping.file, mapping.line, mapping.column)


def _edge_differences(mapping: Mapping, resolver: Resolver, theirs: dict[Edge, int]) -> Iterator[SpecProblem]:
    lineage = resolver.resolve(mapping)
    ours = {
        (_canonical(source.schema, source.field), _canonical(schema, path)): source
        for (schema, path), entry in lineage.entries.items()
        for source in entry.sources
    }
    first = mapping.sources[0] if mapping.sources else ""
    guessed = {edge: (_canonical(first, source.field), edge[1]) for edge, source in ours.items()}
    for edge, guess in guessed.items():
        if edge not in theirs and guess not in theirs:
            message = f"the {COMMAND} command does not find {edge[0]} -> {edge[1]} in {mapping.label}"
            yield SpecProblem(message, mapping.file, mapping.line, mapping.column)
    ours_or_guessed = {*ours, *guessed.values()}
    containers = set(_container_lines(mapping.arrows))
    for edge, line in theirs.items():
        if edge not in ours_or_guessed and line not in containers and edge[0] != edge[1]:
            message = f"only the {COMMAND} command finds {edge[0]} -> {edge[1]} in {mapping.label}"
            yield SpecProblem(message, mapping.file, line)


def _container_lines(arrows: Iterable[Arrow]) -> Iterator[int]:
    """Where `each`, `flatten` and nested arrows stand: edges of their own in the graph, none in the lineage."""
    for arrow in arrows:
        if arrow.kind in CONTAINERS:
            yield arrow.line
            yield from _container_lines(arrow.children)


def _only_theirs(what: str, node: Json) -> SpecProblem:
    return SpecProblem(f"only the {COMMAND} command finds {what}", node["file"], int(node["line"]))


def _mapping_id(node: Json) -> tuple[str, int]:
    """Key and line: an anonymous mapping has no key of its own."""
    key = _key(node["id"])
    namespace, name = node.get("namespace"), key.rpartition("::")[2] if _ANONYMOUS in key else key
    if _ANONYMOUS in key:
        return qualified(namespace, ""), int(node["line"])
    return name, int(node["line"])


def _key(canonical: str) -> str:
    """`::name` is a name outside of namespaces."""
    return canonical.removeprefix("::")


def _canonical(key: str, path: str) -> str:
    return f"{key}.{path}"


def _plain(endpoint: str) -> str:
    return _key(endpoint).replace("`", "")
