"""The engine on the `satsuma` command: turns its JSON into the values that the own engine gives.

The command's `graph` is silent about syntax errors, has no metadata and resolves bare fields to the first
source, and `mapping` shows only the first source of an arrow. So `validate` goes first, declarations come
from `schema`, `mapping` and `meta`, and `graph` only adds further sources and the lines of arrows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lineagelog.errors import InputError
from lineagelog.export.satsuma.cli_arrows import anonymous_arrows, read_arrows
from lineagelog.export.satsuma.text import SatsumaError
from lineagelog.export.satsuma.tree import Comment, Field, Mapping, Meta, Problem, Schema, Spec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

type Json = dict[str, Any]

COMMAND = "satsuma"
_ANONYMOUS = "<anon>@"
_FATAL_RULES = frozenset({"parse-error", "missing-node", "missing-import", "duplicate-definition", "circular-spread"})


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command gave: its exit code and its two texts."""

    code: int
    output: str
    errors: str


class CliEngine:
    """Reads a workspace through the `satsuma` command, which `run` runs with the arguments it is given."""

    def __init__(self, run: Callable[[Sequence[str]], Ran]) -> None:
        self._run = run

    def read(self, entries: Sequence[str]) -> Spec:
        """Read the files and all that they import. Raises InputError."""
        specs = [self._workspace(entry) for entry in entries]
        schemas: dict[str, Schema] = {}
        for spec in specs:
            for key, schema in spec.schemas.items():
                earlier = schemas.setdefault(key, schema)
                if earlier != schema:
                    raise InputError(
                        f"{schema.file}:{schema.line}: schema '{key}' is already defined in "
                        f"{earlier.file}:{earlier.line}; rename one of the two"
                    )
        return Spec(
            schemas=schemas,
            mappings=tuple(dict.fromkeys(mapping for spec in specs for mapping in spec.mappings)),
            comments=tuple(dict.fromkeys(comment for spec in specs for comment in spec.comments)),
            files=tuple(dict.fromkeys(file for spec in specs for file in spec.files)),
            problems=tuple(dict.fromkeys(problem for spec in specs for problem in spec.problems)),
        )

    def _workspace(self, entry: str) -> Spec:
        problems = self._validate(entry)
        graph = self._ask("graph", entry)
        nodes = graph["nodes"]
        schemas = {
            _key(node["id"]): self._schema(node, entry) for node in nodes if node["kind"] in ("schema", "metric")
        }
        edges: dict[str, list[Json]] = {}
        for edge in graph["edges"]:
            edges.setdefault(edge["mapping"], []).append(edge)
        mappings = tuple(
            self._mapping(node, edges.get(node["id"], []), schemas, entry)
            for node in nodes
            if node["kind"] == "mapping"
        )
        files = {entry: None, **dict.fromkeys(node["file"] for node in nodes)}
        return Spec(schemas, mappings, self._comments(entry, schemas, mappings), tuple(files), problems)

    def _ask(self, command: str, *arguments: str) -> Json:
        """Run a command with `--json` and read what it prints."""
        ran = self._run([command, *arguments, "--json"])
        try:
            answer = json.loads(ran.output)
        except ValueError:
            reason = (ran.errors.strip() or ran.output.strip() or f"exit code {ran.code}").splitlines()[0]
            raise InputError(f"{COMMAND} {command} {' '.join(arguments)}: {reason}") from None
        if isinstance(answer, dict) and "error" in answer:
            raise InputError(f"{COMMAND} {command} {' '.join(arguments)}: {answer['error']}")
        return answer if isinstance(answer, dict) else {"items": answer}

    def _validate(self, entry: str) -> tuple[Problem, ...]:
        """Raise on what cannot be exported; hand on the rest. `graph` would hide a missing brace."""
        answer = self._ask("validate", entry)
        problems: list[Problem] = []
        for finding in answer.get("findings") or answer.get("items") or []:
            file, line = finding.get("file", entry), int(finding.get("line", 1))
            if finding.get("rule") in _FATAL_RULES or "file" not in finding:
                column = int(finding.get("column", 1))
                raise SatsumaError(finding["message"], file=file, line=line, column=column)
            if finding.get("rule") in ("import-scope", "undefined-import", "namespace-metadata-conflict"):
                problems.append(Problem(finding["message"], file, line))
        return tuple(problems)

    def _schema(self, node: Json, entry: str) -> Schema:
        key = _key(node["id"])
        found = self._ask("schema", key, entry)
        fields = found["fields"]
        if _has_nested_spread(fields):
            fields = self._ask("fields", key, entry, "--with-meta")["items"]
        metadata = _metadata(found.get("metadata"))
        return Schema(
            key=key,
            namespace=node.get("namespace"),
            name=_bare(key, node.get("namespace")),
            file=found["file"],
            line=found["line"],
            metadata=metadata,
            notes=self._notes(key, entry, metadata),
            fields=_fields(fields),
        )

    def _mapping(self, node: Json, edges: list[Json], schemas: dict[str, Schema], entry: str) -> Mapping:
        key, namespace = _key(node["id"]), node.get("namespace")
        sources, targets = (tuple(dict.fromkeys(map(_key, node[side]))) for side in ("sources", "targets"))
        for side, keys in (("source", sources), ("target", targets)):
            for unknown in [name for name in keys if name not in schemas]:
                message = f"mapping '{key}' has the unknown {side} schema '{unknown}'; define or import it"
                raise SatsumaError(message, file=node["file"], line=node["line"])
        name: str | None = _bare(key, namespace)
        metadata: tuple[Meta, ...] = ()
        notes: tuple[str, ...] = ()
        if name is not None and name.startswith(_ANONYMOUS):
            name = None
            arrows = anonymous_arrows(edges, sources, targets)
        else:
            found = self._ask("mapping", key, entry)
            metadata = _metadata(found.get("metadata"))
            notes = self._notes(key, entry, metadata)
            arrows = read_arrows(found["arrows"], edges, [schemas[source] for source in sources], _metadata)
        return Mapping(namespace, name, node["file"], node["line"], 0, metadata, notes, sources, targets, arrows)

    def _notes(self, key: str, entry: str, metadata: tuple[Meta, ...]) -> tuple[str, ...]:
        """The `note { }` blocks of a body: `meta` lists them behind the metadata's own notes."""
        if "." in key:  # `meta` takes a dot for the way to a field
            return ()
        notes = [item["text"] for item in self._ask("meta", key, entry)["entries"] if item["kind"] == "note"]
        return tuple(notes[sum(1 for item in metadata if item.kind == "note") :])

    def _comments(self, entry: str, schemas: dict[str, Schema], mappings: tuple[Mapping, ...]) -> tuple[Comment, ...]:
        """`warnings` mixes `//!` and `//?`: what `--questions` lists are the questions."""
        questions = {_at(item) for item in self._ask("warnings", entry, "--questions")["items"]}
        lines = {("schema", key): schema.line for key, schema in schemas.items()}
        lines |= {("mapping", mapping.key): mapping.line for mapping in mappings if mapping.name}
        return tuple(
            Comment(
                kind="question" if _at(item) in questions else "warning",
                text=item["text"].strip(),
                file=item["file"],
                line=item["line"],
                block=item.get("block"),
                block_line=lines.get((item.get("blockType", ""), item.get("block", "")), 0),
                block_type=item.get("blockType"),
            )
            for item in self._ask("warnings", entry)["items"]
        )


def _at(item: Json) -> tuple[str, int, str]:
    return item["file"], item["line"], item["text"]


def _key(canonical: str) -> str:
    """`::name` is a name outside of namespaces."""
    return canonical.removeprefix("::")


def _bare(key: str, namespace: str | None) -> str:
    return key.removeprefix(f"{namespace}::") if namespace else key


def _metadata(entries: list[Json] | None) -> tuple[Meta, ...]:
    found: list[Meta] = []
    for entry in entries or ():
        kind = entry["kind"]
        if kind == "tag":
            found.append(Meta(kind, entry["tag"]))
        elif kind == "kv":
            found.append(Meta(kind, entry["key"], entry["value"]))
        elif kind == "note":
            found.append(Meta(kind, kind, entry["text"]))
        else:
            found.append(Meta(kind, kind, values=tuple(entry["values"])))
    return tuple(found)


def _has_nested_spread(fields: list[Json]) -> bool:
    return any(field.get("hasSpreads") or _has_nested_spread(field.get("children") or []) for field in fields)


def _fields(fields: list[Json]) -> tuple[Field, ...]:
    """The fields of a body; of two with one name the first stands."""
    found: dict[str, Field] = {}
    for field in fields:
        found.setdefault(field["name"], _field(field))
    return tuple(found.values())


def _field(field: Json) -> Field:
    children = field.get("children")
    line = int(field.get("startRow", -1)) + 1
    return Field(
        name=field["name"],
        type=field.get("type") or "",
        is_list=bool(field.get("isList")),
        metadata=_metadata(field.get("metadata")),
        children=None if children is None else _fields(children),
        line=line,
        column=int(field.get("startColumn", -1)) + 1,
        end_line=line,
        origin=field.get("fromFragment"),
    )
