"""The engine on the `satsuma` command: the same structure as our own, and the command's traps."""

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
import json, pathlib, re, sys
arguments = [text for text in sys.argv[1:] if not text.startswith("--")]
folder = pathlib.Path({folder!r})
if "--questions" in sys.argv:  # an empty list: valid JSON and exit code 1
    print(json.dumps({{"kind": "question", "count": 0, "items": []}}))
    sys.exit(1)
if len(arguments) == 3:
    file = folder / arguments[0] / (re.sub("[^A-Za-z0-9]+", "_", arguments[1]) + ".json")
else:
    file = folder / (arguments[0] + ".json")
text = file.read_text()
sys.stdout.write(text)
sys.exit(1 if arguments[0] == "warnings" and not json.loads(text)["items"] else 0)
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
    """A `satsuma` on PATH that replays a recording gives the events that our own parser gives."""
    spec_file = original(name, RECORDED[name], shared)
    command = tmp_path / "satsuma"
    command.write_text(FAKE.format(python=sys.executable, folder=str(shared / "cli-json" / name)))
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    by_command = make_engine("cli").read([str(spec_file)])
    own = OwnEngine(lambda path: Path(path).read_bytes()).read([str(spec_file)])
    assert events(by_command) == events(own)
    assert edges(by_command) == edges(own)


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


def answers(**given: Any) -> CliEngine:
    """An engine on a command that gives these answers; what is not given is empty."""
    usual: dict[str, Any] = {
        "validate": {"findings": []},
        "graph": {"nodes": [], "edges": []},
        "warnings": {"items": []},
        "questions": {"items": []},
        "meta": {"entries": []},
    }

    def run(arguments: Sequence[str]) -> Ran:
        command = "questions" if "--questions" in arguments else arguments[0]
        answer = given.get(command, usual.get(command))
        if callable(answer):
            answer = answer(arguments[1])
        text = answer if isinstance(answer, str) else json.dumps(answer)
        return Ran(0, text, "")

    return CliEngine(run)


def node(kind: str, name: str, **more: Any) -> dict[str, Any]:
    """A node of the graph."""
    return {"id": f"::{name}", "kind": kind, "namespace": None, "file": "f.stm", "line": 1, **more}


def schema(name: str, *fields: str, **more: Any) -> dict[str, Any]:
    """What `satsuma schema` says."""
    columns = [{"name": field, "type": "INT", "startRow": row} for row, field in enumerate(fields, 1)]
    return {"name": f"::{name}", "file": "f.stm", "line": 1, "fields": columns, "note": None, **more}


def test_a_syntax_error_is_told_with_its_place() -> None:
    """`graph` would be silent about it, so `validate` is asked first."""
    finding = {
        "file": "f.stm",
        "line": 3,
        "column": 5,
        "severity": "error",
        "rule": "missing-node",
        "message": "}",
    }
    with pytest.raises(SatsumaError, match=r"^f\.stm:3:5: \}"):
        answers(validate={"findings": [finding]}).read(["f.stm"])


def test_what_the_command_only_warns_about_is_a_problem() -> None:
    """A name out of scope does not stop the export."""
    finding = {
        "file": "f.stm",
        "line": 3,
        "severity": "error",
        "rule": "import-scope",
        "message": "not reachable",
    }
    spec = answers(validate={"findings": [finding]}).read(["f.stm"])
    assert [str(problem) for problem in spec.problems] == ["f.stm:3: not reachable"]


def test_questions_are_taken_out_of_the_warnings() -> None:
    """`warnings` lists both; `--questions` only the questions."""
    both = [
        {"text": text, "line": line, "file": "f.stm", "block": "a", "blockType": "schema"}
        for line, text in ((2, "bad"), (3, "why"))
    ]
    engine = answers(
        graph={"nodes": [node("schema", "a")], "edges": []},
        schema=schema("a", "x", "y"),
        warnings={"items": both},
        questions={"items": both[1:]},
    )
    spec = engine.read(["f.stm"])
    assert [(comment.kind, comment.text, comment.block_line) for comment in spec.comments] == [
        ("warning", "bad", 1),
        ("question", "why", 1),
    ]


def test_a_bare_field_of_a_later_source_is_given_back_to_it() -> None:
    """The graph resolves `k, v -> t` to the first source for both, though only the second declares `v`."""
    engine = answers(
        graph={
            "nodes": [
                *(node("schema", name) for name in "abt"),
                node("mapping", "m", sources=["::a", "::b"], targets=["::t"]),
            ],
            "edges": [
                {"from": f"::a.{field}", "to": "::t.z", "mapping": "::m", "classification": "none", "line": 5}
                for field in "kv"
            ],
        },
        schema=lambda name: schema(name, {"a": "k", "b": "v", "t": "z"}[name]),
        mapping={"arrows": [{"kind": "map", "src": "k", "tgt": "z"}]},
    )
    assert edges(engine.read(["f.stm"])) == {("::m", "::a.k", "::t.z"), ("::m", "::b.v", "::t.z")}


def test_an_anonymous_mapping_is_read_from_the_graph_and_leaks_no_path() -> None:
    """Its id is an absolute path; the container's edge is no arrow, and the name comes from the schemas."""
    key = "<anon>@/home/me/secret/f.stm:4"

    def edge(source: str, to: str, line: int, **more: Any) -> dict[str, Any]:
        return {
            "from": f"::a.{source}",
            "to": f"::t.{to}",
            "mapping": f"::{key}",
            "classification": "none",
            "line": line,
            **more,
        }

    record = [{"name": "l", "type": "record", "isList": True, "children": [{"name": "x", "type": "INT"}]}]
    engine = answers(
        graph={
            "nodes": [
                node("schema", "a"),
                node("schema", "t"),
                node("mapping", key, sources=["::a"], targets=["::t"]),
            ],
            "edges": [
                edge("l", "l", 5),
                edge("l.x", "l.x", 6, classification="nl", transforms=["trim", "upper"]),
            ],
        },
        schema=lambda name: {**schema(name), "fields": record},
    )
    own = read_spec(
        "schema a { l list_of record { x INT } }\nschema t { l list_of record { x INT } }\n"
        "mapping { source { a } target { t }\n each l -> l { .x -> .x { trim | upper } } }"
    )
    assert events(engine.read(["f.stm"])) == events(own)
    assert "secret" not in json.dumps(events(engine.read(["f.stm"])))


def test_nested_spreads_are_asked_for_again() -> None:
    """`schema` leaves spreads in records unexpanded; `fields` expands them."""
    unexpanded = [{"name": "r", "type": "record", "children": [], "hasSpreads": True, "spreads": ["f"]}]
    expanded = [{"name": "r", "type": "record", "children": [{"name": "x", "type": "INT", "fromFragment": "f"}]}]
    engine = answers(
        graph={"nodes": [node("schema", "a")], "edges": []},
        schema={**schema("a"), "fields": unexpanded},
        fields=expanded,
    )
    (record,) = engine.read(["f.stm"]).schemas["a"].fields
    assert [child.name for child in record.children or ()] == ["x"]


def test_an_unknown_schema_in_a_mapping_is_an_error() -> None:
    """As with our own engine: the file, the place, the name."""
    engine = answers(graph={"nodes": [node("mapping", "m", sources=["::a"], targets=[])], "edges": []})
    with pytest.raises(SatsumaError, match=r"^f\.stm:1:1: mapping 'm' has the unknown source schema 'a'"):
        engine.read(["f.stm"])


def test_an_answer_that_is_no_json_is_told_in_one_line() -> None:
    """The command's first line of complaint."""
    engine = CliEngine(lambda arguments: Ran(2, "", "Error resolving path 'f.stm'\nmore"))
    with pytest.raises(InputError, match=r"^satsuma validate f\.stm: Error resolving path 'f\.stm'$"):
        engine.read(["f.stm"])


def test_without_the_command_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is not on PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SettingsError, match="not on PATH: install it, or use --engine own"):
        make_engine("cli").read(["f.stm"])
