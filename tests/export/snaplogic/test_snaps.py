"""Single Snaps in small pipelines: what each kind reads, passes on and writes; and that validation finds
faults."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from lineagelog.export.snaplogic import Nested, PipelineExportOptions, Source, VirtualNames, export_snaplogic, problems
from lineagelog.export.snaplogic.validate import unknown_columns

from .build import Json, Sample, account, chain, expr, insert, lit, mapping, select, table
from .support import columns, datasets, event, export, lineage, run, warnings


def test_a_select_with_input_and_pass_through_puts_the_input_under_original() -> None:
    """Columns of the table beside it; the where clause's field is one of the input."""
    settings = {"tableName": lit("s.t"), "passThrough": lit(True), "whereClause": expr('"id = " + $a')}
    sample = chain("postgres-select", "It", settings, "x", "original.b.c", account=account("shop", "postgres"))
    it = event(run(sample, nested=Nested.PATH), "It")
    assert datasets(it["inputs"]) == ["SnapLogic | Gen", "Postgres | shopdb.s.t"]
    assert columns(it["inputs"][1]) == ["x"]
    assert lineage(it["outputs"][0]) == {
        "original.a": (["Gen.a"], "Mapping"),
        "original.b.c": (["Gen.b.c"], "Mapping"),
        "x": (["shopdb.s.t.x"], "Mapping"),
    }


def test_an_http_snap_has_its_input_under_original_and_an_answer_from_nowhere() -> None:
    """`original` comes from all input columns, as in SnapLogic's own events."""
    it = event(run(chain("apisuite-httpclient", "It", {}, "entity.id", "original.a")), "It")
    assert lineage(it["outputs"][0]) == {"entity": ([], ""), "original": (["Gen.a", "Gen.b"], "Mapping")}


def test_a_generator_is_literal_json_or_unknown() -> None:
    """Nested objects of all documents; a template gives what is used, from nowhere."""
    gen = event(run(chain("flow-filter", "It", {}, "a"), nested=Nested.PATH), "Gen")
    assert columns(gen["outputs"][0]) == ["a", "b.c"]
    sample = chain("flow-filter", "It", {}, "z")
    sample.find("gen").settings["editable_content"] = lit("[#foreach]")
    assert lineage(event(run(sample), "Gen")["outputs"][0]) == {"z": ([], "")}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("$", {"a": (["Gen.a"], "Mapping"), "b.c": (["Gen.b.c"], "Mapping")}),
        ("$b", {"c": (["Gen.b.c"], "Mapping")}),
        ("$a", {"a": (["Gen.a"], "Mapping"), "b.c": (["Gen.a"], "Mapping")}),
    ],
)
def test_a_mapper_that_replaces_the_whole_document(source: str, found: dict[str, Any]) -> None:
    """The columns below what is mapped to `$`; what else is used comes from there, if it can be there at all."""
    settings = {"passThrough": lit(False)} | mapping((expr(source), "$"))
    it = event(run(chain("transform-datatransform", "It", settings, "a", "b.c"), nested=Nested.PATH), "It")
    assert lineage(it["outputs"][0]) == found


def test_a_mapping_root_limits_the_mapper_to_what_is_below_it() -> None:
    """Without pass-through everything outside the root stays, below it only what is mapped."""
    settings = mapping((expr("$c + 1"), "$d"))
    settings["transformations"]["value"]["mappingRoot"] = lit("$b")
    it = event(run(chain("transform-datatransform", "It", settings, "a"), nested=Nested.PATH), "It")
    assert lineage(it["outputs"][0]) == {"a": (["Gen.a"], "Mapping"), "b.d": (["Gen.b.c"], "+")}


def test_a_structure_snap_that_keeps_the_rest_moves_and_deletes() -> None:
    """A moved field is gone from where it was."""
    rows = table(
        {"operation": lit("move"), "sourcePath": lit("$a"), "targetPath": lit("$z")},
        {"operation": lit("delete"), "sourcePath": lit("$b"), "targetPath": lit("")},
    )
    settings = {"passThrough": lit("All - modify input"), "mappingTable": rows}
    it = event(run(chain("transform-structuraltransform", "It", settings, "z")), "It")
    assert lineage(it["outputs"][0]) == {"z": (["Gen.a"], "Mapping")}


def test_a_csv_parser_without_header_has_its_listed_columns() -> None:
    """`columnList` names them."""
    settings = {"containsHeader": lit(False), "columnList": table({"column": lit("a")}, {"column": lit("q")})}
    it = event(run(chain("transform-csvparser", "It", settings, "a")), "It")
    assert columns(it["outputs"][0]) == ["a", "q"]


@pytest.mark.parametrize(
    ("kind", "settings", "inputs", "outputs"),
    [
        ("salesforce-read", {"objectType": lit("Account")}, ["Salesforce | Account"], ["SnapLogic | It"]),
        ("salesforce-create", {"objectType": lit("Lead")}, [], ["SnapLogic | It", "Salesforce | Lead"]),
        (
            "salesforce-query",
            {"soqlQuery": lit("SELECT Id FROM Case")},
            ["Salesforce | Case"],
            ["SnapLogic | It"],
        ),
        ("s3-s3download", {"bucket": lit("b"), "objectKey": lit("k/x")}, ["S3 | b/k/x"], ["SnapLogic | It"]),
        ("binary-delete", {"filePath": lit("file:///x")}, [], ["SnapLogic | It", "file | /x"]),
        (
            "redshift-bulkload",
            {"schemaName": lit("s"), "tableName": lit("t")},
            [],
            ["SnapLogic | It", "Redshift | s.t"],
        ),
        (
            "oracle-execute",
            {"sqlStatement": lit("INSERT INTO t SELECT * FROM u")},
            ["Oracle | u"],
            ["SnapLogic | It", "Oracle | t"],
        ),
        ("jms-jmsconsumer", {"destination": lit("q")}, ["JMS | q"], ["SnapLogic | It"]),
        ("rest-get", {}, [], ["SnapLogic | It"]),
        ("flow-gate", {}, [], ["SnapLogic | It"]),
    ],
)
def test_endpoints_of_the_class_table(kind: str, settings: Json, inputs: list[str], outputs: list[str]) -> None:
    """The system and the name that the settings give; the own output because a Mapper takes it."""
    it = event(run(chain(kind, "It", settings, "a")), "It")
    assert datasets(it["inputs"]) == ["SnapLogic | Gen", *inputs]
    assert datasets(it["outputs"]) == outputs


def test_a_producer_writes_what_its_message_names() -> None:
    """`$` or no message: the whole documents; fields: only these."""
    settings = {"topics": lit("t"), "valueMessage": expr("JSON.stringify($b)"), "keyMessage": expr("$a")}
    kind = "confluentkafka-confluentkafkaproducer"
    named = event(run(chain(kind, "It", settings, "original.a", account=account("kafka", "kafka"))), "It")
    assert columns(named["outputs"][1]) == ["a", "b"]
    only_b = {**settings, "keyMessage": lit("key")}
    assert columns(event(run(chain(kind, "It", only_b, "original.a")), "It")["outputs"][1]) == ["b"]


def test_a_table_that_depends_on_documents_is_left_out_with_a_warning() -> None:
    """No name is invented."""
    exported = run(chain("oracle-insert", "It", {"tableName": expr("$a")}, "original.a"))
    assert datasets(event(exported, "It")["outputs"]) == ["SnapLogic | It"]
    assert any("'$a' cannot be resolved" in finding.message for finding in exported.findings)
    execute = run(chain("oracle-execute", "It", {"sqlStatement": expr('"SELECT * FROM " + $a')}, "x"))
    assert any("depends on documents" in finding.message for finding in execute.findings)


def test_grandchildren_get_what_the_first_parent_feeds() -> None:
    """Three levels: the entry of the middle one is itself a Pipeline Execute."""
    top, middle, bottom = Sample("top", "Top"), Sample("middle", "Middle"), Sample("bottom", "Bottom")
    middle.parent, bottom.parent = top, middle
    select(top, "read", "Read", "s", "t")
    top.snap("call", "flow-pipeexec", "Call", {"pipeline": lit("Middle")})
    top.link("read", "call")
    middle.snap("call", "flow-pipeexec", "Call", {"pipeline": expr('"shared/" + "Bottom"')})
    middle.open_inputs = [("call", "input0")]
    insert(bottom, "load", "Load", "s", "u")
    bottom.open_inputs = [("load", "inputRows")]
    for order in ((top, middle, bottom), (bottom, middle, top)):
        loads = [item for item in run(*order).events if ":Load:" in item["job"]["name"]]
        assert [datasets(load["inputs"]) for load in loads] == [["SnapLogic | Read"]]


def test_a_child_run_whose_parent_has_no_name_stands_alone() -> None:
    """A warning; its Snaps are exported."""
    sample = chain("flow-filter", "It", {}, "a")
    document = sample.run()
    document["response_map"]["parent_ruuid"] = "org_cdcc6929-2f45-4678-b09d-6b79965eda32"
    pipeline = json.dumps(sample.pipeline()).encode()
    exported = export_snaplogic([Source("p.slp", pipeline)], [Source("r.json", json.dumps(document).encode())])
    assert len(exported.events) == 3
    assert any("stands alone" in finding.message for finding in exported.findings)


def _set(document: Json, path: str, value: Any) -> None:
    *way, last = path.split(".")
    for key in way:
        document = document[int(key)] if isinstance(document, list) else document[key]
    document[last] = value


@pytest.mark.parametrize("modern", [False, True])
@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        ("run.runId", "no uuid", "uuid"),
        ("eventTime", 5, "eventTime"),
        ("outputs.0.facets.schema.fields", "x", "fields"),
        ("inputs.0.facets.columnLineage", {}, "columnLineage on an input"),
        ("inputs.0.name", "other", "comes from"),
    ],
)
def test_validation_finds_faults(modern: bool, path: str, value: Any, text: str) -> None:
    """Of the structure, and of what no schema says; every fault names the job."""
    item = copy.deepcopy(event(export("join", modern=modern), "Copy"))
    if path.endswith("columnLineage"):
        value = item["outputs"][0]["facets"]["columnLineage"]
    _set(item, path, value)
    found = problems([item], modern)
    assert any(text in problem for problem in found), found
    assert all(problem.startswith(item["job"]["name"]) for problem in found)


def test_validation_finds_a_run_id_that_is_used_twice() -> None:
    """Two events of one Snap."""
    item = event(export("join"), "Copy")
    assert any("used twice" in problem for problem in problems([item, item], modern=False))


def test_an_aggregate_without_a_function_is_still_described() -> None:
    """A damaged row gives a valid event."""
    rows = table({"function": lit(None), "field": lit("$a"), "resultField": lit("$n")})
    it = event(run(chain("transform-aggregate", "It", {"aggregateFields": rows}, "n")), "It")
    assert lineage(it["outputs"][0]) == {"n": (["Gen.a"], "aggregate")}


def test_an_input_field_that_is_no_column_of_its_input_is_found() -> None:
    """Also where its input has no schema at all; events that are exported have none."""
    item = copy.deepcopy(event(export("join"), "Copy"))
    assert unknown_columns(item) == []
    renamed = item["inputs"][0]["facets"]["schema"]["fields"][0]
    column, renamed["name"] = renamed["name"], "other"
    assert [f"comes from {column} of" in message for message in unknown_columns(item)] == [True]
    del item["inputs"][0]["facets"]["schema"]
    assert len(unknown_columns(item)) > 1


def test_two_datasets_of_one_name_are_told_where_their_columns_differ() -> None:
    """SnapLogic's own names have five characters of the Snap id only: two Snaps of one label may share them."""
    sample = Sample("twins", "Twins")
    for key in ("one", "two"):
        sample.snap(key, "transform-datatransform", "Twin", mapping((lit(1), f"${key}")), inputs={})
    sample.snap("both", "flow-union", "Both", inputs={"input0": "input0", "input1": "input1"})
    sample.link("one", "both")
    sample.link("two", "both@input1")
    ids = {sample.id("one"): "aaaaa" + sample.id("one")[5:], sample.id("two"): "aaaaa" + sample.id("two")[5:]}
    texts = [json.dumps(sample.pipeline()), json.dumps(sample.run())]
    for old, new in ids.items():
        texts = [text.replace(old, new) for text in texts]
    files = [Source(name, text.encode()) for name, text in zip(("p.slp", "r.json"), texts, strict=True)]
    exported = export_snaplogic(files[:1], files[1:], PipelineExportOptions(virtual_names=VirtualNames.SNAPLOGIC))
    assert any("Snap 'Both': column two comes from two of" in message for message in warnings(exported))
