"""The engine on the `satsuma` command: it finds what our own finds, and what differs is told."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lineagelog.cli.export_satsuma import make_engine
from lineagelog.errors import InputError, SettingsError
from lineagelog.export.satsuma import CliEngine, ExportOptions, OwnEngine, Ran, SatsumaError, Spec, export

from .support import WHEN, read_spec

if TYPE_CHECKING:
    from collections.abc import Sequence

RECORDED = {
    "db-to-db__pipeline": None,
    "filter-flatten-governance__governance": "governance/governance.stm",
    "merge-strategies__pipeline": "merge/pipeline.stm",
    "multi-source__multi-source-arrows": "multi-source/multi-source-arrows.stm",
    "multi-source__multi-source-hub": None,
    "nested-iteration__pipeline": "nested/pipeline.stm",
    "seabird-colony-lineage__platform": "seabird/platform.stm",
}
FAKE = """#!{python}
import pathlib, sys
folder = pathlib.Path({folder!r})
with open({log!r}, "a") as log:
    log.write(" ".join(sys.argv[1:]) + "\\n")
sys.stdout.write((folder / (sys.argv[1] + ".json")).read_text())
"""


def events(spec: Spec) -> dict[str, Any]:
    """The events of a spec by job."""
    options = ExportOptions(event_time=WHEN, dataset_namespace="snowflake://acme")
    return {item.name: item.event for item in export(spec, options).events}


def edges(spec: Spec) -> set[tuple[str, str, str]]:
    """(mapping, source field, target field) of a spec, as the command spells them."""
    from lineagelog.export.satsuma.lineage import Resolver

    def canonical(key: str) -> str:
        return key if "::" in key else f"::{key}"

    resolver = Resolver(spec)
    return {
        (canonical(mapping.key), f"{canonical(source.schema)}.{source.field}", f"{canonical(schema)}.{path}")
        for mapping in spec.mappings
        for (schema, path), entry in resolver.resolve(mapping).entries.items()
        for source in entry.sources
    }


def original(name: str, stm: str | None, shared: Path) -> Path:
    """The spec of a recording: shared, or in a checkout of the language's examples."""
    if stm is not None:
        return shared / "stm" / stm
    folder, file = name.split("__")
    examples = os.environ.get("SATSUMA_EXAMPLES")
    if not examples:
        pytest.skip("no spec of this recording: set SATSUMA_EXAMPLES to the examples of satsuma-lang")
    return Path(examples) / folder / f"{file}.stm"


@pytest.mark.parametrize("name", RECORDED)
def test_both_engines_give_the_same_structure(
    name: str, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `satsuma` on PATH that replays a recording finds what our own parser finds, started once."""
    spec_file = original(name, RECORDED[name], shared)
    command = tmp_path / "satsuma"
    log = tmp_path / "started"
    command.write_text(FAKE.format(python=sys.executable, folder=str(shared / "cli-json" / name), log=str(log)))
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    by_command = make_engine("cli").read([str(spec_file)])
    own = OwnEngine(lambda path: Path(path).read_bytes()).read([str(spec_file)])
    assert events(by_command) == events(own)
    assert by_command.problems == own.problems
    assert log.read_text() == f"graph {spec_file} --json\n"


@pytest.mark.parametrize("name", RECORDED)
def test_our_edges_are_those_of_the_graph(name: str, shared: Path) -> None:
    """Every edge that we find is in the command's graph, which has more only for containers and targets."""
    own = OwnEngine(lambda path: Path(path).read_bytes()).read([str(original(name, RECORDED[name], shared))])
    graph = json.loads((shared / "cli-json" / name / "graph.json").read_text())
    recorded = {(edge["mapping"], edge["from"], edge["to"]) for edge in graph["edges"] if edge["from"]}
    ours = edges(own)
    assert ours <= recorded
    targets = {to for _, _, to in recorded}
    for _, source, to in recorded - ours:
        is_container = (
            any(other.startswith(to + ".") for other in targets) or to.rpartition(".")[2] in to.rpartition(".")[0]
        )
        assert is_container or source.rpartition(".")[0] == to.rpartition(".")[0]


class Command:
    """A `satsuma` command that answers from memory, and remembers how often it was started."""

    def __init__(self, nodes: list[dict[str, Any]], edges: list[dict[str, Any]], **more: Any) -> None:
        self.answers: dict[str, Any] = {"graph": {"nodes": nodes, "edges": edges, "stats": {"errors": 0}}, **more}
        self.started: list[Sequence[str]] = []
        self.entry = ""

    def __call__(self, arguments: Sequence[str]) -> Ran:
        self.started.append(arguments)
        file = Path(arguments[1])
        self.entry = file.read_text() if file.exists() else ""
        answer = self.answers[arguments[0]]
        return Ran(0, answer if isinstance(answer, str) else json.dumps(answer), "")


SPEC = """schema a { k INT v INT }
schema b { y INT }
mapping m { source { a } target { b }
  k -> y
}
"""
NODES = [
    {"id": "::a", "kind": "schema", "namespace": None, "file": "f.stm", "line": 1},
    {"id": "::b", "kind": "schema", "namespace": None, "file": "f.stm", "line": 2},
    {"id": "::m", "kind": "mapping", "namespace": None, "file": "f.stm", "line": 3,
     "sources": ["::a"], "targets": ["::b"]},
]  # fmt: skip
EDGE = {"from": "::a.k", "to": "::b.y", "mapping": "::m", "classification": "none", "line": 4}


def read(command: Command, text: str = SPEC, *entries: str) -> Spec:
    """Read a text through the engine on the command, from each of the entries."""
    own = OwnEngine(lambda path: text.encode())
    return CliEngine(command, own).read(entries or ("f.stm",))


def told(command: Command, text: str = SPEC) -> list[str]:
    """What the engine tells."""
    return [str(problem) for problem in read(command, text).problems]


def test_the_command_is_started_once_however_many_schemas_there_are() -> None:
    """And what comes out is what our own engine reads."""
    command = Command(NODES, [EDGE])
    assert events(read(command)) == events(read_spec({"f.stm": SPEC}))
    assert command.started == [["graph", "f.stm", "--json"]]


def test_several_specs_are_one_start_too(tmp_path: Path) -> None:
    """The command begins with a file for the moment that imports each of them."""
    files = []
    for name in "pq":
        file = tmp_path / f"{name}.stm"
        file.write_text(f"namespace n {{ schema {name} {{ k INT }} }}")
        files.append(str(file))
    nodes = [{"id": f"n::{name}", "kind": "schema", "namespace": "n", "file": "", "line": 1} for name in "pq"]
    command = Command(nodes, [])
    spec = CliEngine(command, OwnEngine(lambda path: Path(path).read_bytes())).read(files)
    assert (len(command.started), spec.problems) == (1, ())
    assert command.entry == "".join(f'import {{ n::{name} }} from "{tmp_path}/{name}.stm"\n' for name in "pq")
    assert not Path(command.started[0][1]).exists()


def test_what_only_one_engine_finds_is_told() -> None:
    """Schemas, mappings, their sources and targets, and edges, each with a place."""
    other = {**NODES[2], "id": "::other", "line": 9}
    assert told(Command([*NODES, {**NODES[0], "id": "::c"}, other], [EDGE])) == [
        "f.stm:1: only the satsuma command finds schema 'c'",
        "f.stm:9: only the satsuma command finds mapping 'other'",
    ]
    assert told(Command([NODES[0], {**NODES[2], "sources": []}], [])) == [
        "f.stm:2: the satsuma command does not find schema 'b'",
        "f.stm:3:1: the satsuma command finds other sources of mapping 'm': none",
        "f.stm:3:1: the satsuma command does not find a.k -> b.y in mapping 'm'",
    ]
    assert told(Command(NODES, [EDGE, {**EDGE, "from": "::a.v", "line": 5}])) == [
        "f.stm:5: only the satsuma command finds a.v -> b.y in mapping 'm'"
    ]
    assert told(Command(NODES[:2], [])) == ["f.stm:3:1: the satsuma command does not find mapping 'm'"]


def test_a_bare_field_of_a_later_source_is_no_difference() -> None:
    """The graph resolves it to the first source, though only the second declares it."""
    text = "schema a { k INT }\nschema b { v INT y INT }\nmapping m { source { a, b } target { b }\n v -> y\n}"
    nodes = [*NODES[:2], {**NODES[2], "sources": ["::a", "::b"]}]
    assert told(Command(nodes, [{**EDGE, "from": "::a.v"}]), text) == []


def test_containers_and_anonymous_mappings_are_no_difference() -> None:
    """A container has an edge in the graph; an anonymous mapping's id is a path, which comes into no name."""
    key = "::<anon>@/home/me/secret/f.stm:3"
    text = (
        "schema a { l list_of record { x INT } }\nschema b { l list_of record { x INT } }\n"
        'mapping (note "Why", merge append) { source { a } target { b }\n each l -> l {\n .x -> .x { trim }\n } }'
    )
    edges = [
        {**EDGE, "mapping": key, "from": "::a.l", "to": "::b.l"},
        {**EDGE, "mapping": key, "from": "::a.l.x", "to": "::b.l.x", "line": 5},
    ]
    spec = read(Command([*NODES[:2], {**NODES[2], "id": key}], edges), text)
    assert spec.problems == ()
    (job,) = (event["job"] for event in events(spec).values())
    assert "secret" not in json.dumps(events(spec))
    assert job["facets"]["documentation"]["description"] == "Why"
    assert job["facets"]["satsuma_mergeStrategy"]["strategy"] == "append"


def test_a_spec_that_we_cannot_read_is_told_without_the_command() -> None:
    """The place and message are those of the own engine, circular spreads too."""
    command = Command([], [])
    for text in ("schema a {", "fragment f { ...g }\nfragment g { ...f }\nschema s { ...f\n }"):
        with pytest.raises(SatsumaError) as ours:
            read_spec({"f.stm": text})
        with pytest.raises(SatsumaError) as theirs:
            read(command, text)
        assert str(theirs.value) == str(ours.value)
    assert command.started == []


def test_a_syntax_error_of_the_command_alone_is_told_with_its_place() -> None:
    """`graph` only counts errors: `validate` says what they are."""
    finding = {"file": "f.stm", "line": 3, "column": 5, "rule": "parse-error", "message": "unexpected 'x'"}
    command = Command(NODES, [EDGE], validate={"findings": [{"rule": "undefined-ref"}, finding]})
    command.answers["graph"]["stats"]["errors"] = 1
    with pytest.raises(SatsumaError, match=r"^f\.stm:3:5: the satsuma command says: unexpected 'x'"):
        read(command)


def test_an_answer_that_is_no_json_is_told_in_one_line() -> None:
    """The command's first line of complaint."""
    engine = CliEngine(
        lambda arguments: Ran(2, "", "Error resolving path 'f.stm'\nmore"), OwnEngine(lambda path: SPEC.encode())
    )
    with pytest.raises(InputError, match=r"^satsuma graph f\.stm: Error resolving path 'f\.stm'$"):
        engine.read(["f.stm"])


def test_without_the_command_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is not on PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "f.stm").write_text(SPEC)
    with pytest.raises(SettingsError, match="not on PATH: install it, or use --engine own"):
        make_engine("cli").read([str(tmp_path / "f.stm")])
