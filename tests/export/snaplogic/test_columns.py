"""Which columns come out of a Snap: names on both sides of a Join, splits by expression, wrapped and parsed documents,
and what nothing that reaches a Snap has."""

from __future__ import annotations

import pytest

from lineagelog.export.snaplogic import Nested

from .build import Json, Sample, account, chain, expr, insert, lit, mapping, select, table
from .support import columns, event, lineage, run, warnings


def joined(*uses: str, rows: Json | None = None, join_type: str = "Inner") -> Sample:
    """Two Selects whose columns nobody lists, joined, and a Mapper that uses fields of the result."""
    sample = Sample("both", "Both")
    select(sample, "left", "Left", "s", "orders")
    select(sample, "right", "Right", "s", "customers")
    on = {"leftPath": expr("$customer_id"), "rightPath": expr("$id"), "rightInputView": lit("input1")}
    settings = {"joinType": lit(join_type), "joinPaths": rows or table(on)}
    sample.snap("join", "transform-multijoin", "Join", settings, inputs={"input0": "input0", "input1": "input1"})
    pairs = ((expr(f"${use}"), f"$u{at}") for at, use in enumerate(uses))
    sample.snap("use", "transform-datatransform", "Use", mapping(*pairs))
    sample.link("left", "join", "use")
    sample.link("right", "join@input1")
    return sample


@pytest.mark.parametrize("join_type", ["Inner", "Left Outer", "Outer", "Merge"])
@pytest.mark.parametrize("uses", [("amount", "input1_amount"), ("input1_amount", "amount"), ("input1_amount",)])
def test_a_name_on_both_sides_of_a_join(uses: tuple[str, ...], join_type: str) -> None:
    """The plain one is the left input's, the prefixed one the right's, also where only that one is used."""
    exported = run(joined(*uses, join_type=join_type))
    found = lineage(event(exported, "Join")["outputs"][0])
    assert found["amount"] == (["Left.amount"], "Mapping")
    assert found["input1_amount"] == (["Right.amount"], "Mapping")
    assert "amount" in columns(event(exported, "Left")["inputs"][0])
    assert "amount" in columns(event(exported, "Right")["inputs"][0])
    assert warnings(exported) == []


def test_nested_names_clash_as_a_whole() -> None:
    """Both sides have `original`: the right one is prefixed, whatever lies in it."""
    sample = Sample("both", "Both")
    for side in ("left", "right"):
        rows = mapping((lit(1), f"$key_{side}"), (lit(2), "$key"))
        sample.snap(f"gen_{side}", "transform-datatransform", f"Gen {side}", rows, inputs={})
        insert(sample, side, f"Load {side}", "s", side)
        sample.link(f"gen_{side}", side)
    on = {"leftPath": expr("$original.key"), "rightPath": expr("$original.key"), "rightInputView": lit("r")}
    views = {"input0": "l", "input1": "r"}
    sample.snap("join", "transform-multijoin", "Join", {"joinPaths": table(on)}, inputs=views)
    uses = ((expr("$r_original.key_right"), "$a"), (expr("$original.key_left"), "$b"))
    sample.snap("use", "transform-datatransform", "Use", mapping(*uses))
    sample.link("left", "join", "use")
    sample.link("right", "join@input1")
    found = lineage(event(run(sample, nested=Nested.PATH), "Join")["outputs"][0])
    assert found["r_original.key_right"][0] == ["Load right.original.key_right"]
    assert found["original.key_left"][0] == ["Load left.original.key_left"]
    assert found["r_original.key"][0] == ["Load right.original.key"]


def test_each_of_several_right_inputs_has_its_own_prefix() -> None:
    """The left one is the first view that no row names, wherever it stands."""
    sample = Sample("three", "Three")
    views = {"input0": "Header Data", "input1": "Items", "input2": "More"}
    on = [
        {"leftPath": lit("id"), "rightPath": lit("id"), "rightInputView": lit(view)} for view in ("Header Data", "More")
    ]
    for at, key in enumerate(("a", "b", "c")):
        rows = mapping((lit(at), "$id"), (lit(at), "$name"))
        sample.snap(key, "transform-datatransform", f"Gen {key}", rows, inputs={})
    sample.snap("join", "transform-multijoin", "Join", {"joinPaths": table(*on)}, inputs=views)
    sample.snap("use", "flow-filter", "Use")
    sample.link("a", "join", "use")
    sample.link("b", "join@input1")
    sample.link("c", "join@input2")
    found = lineage(event(run(sample), "Join")["outputs"][0])
    assert {name: origin for name, (origin, _) in found.items()} == {
        "Header Data_id": ["Gen a.id"],
        "Header Data_name": ["Gen a.name"],
        "More_id": ["Gen c.id"],
        "More_name": ["Gen c.name"],
        "id": ["Gen b.id"],
        "name": ["Gen b.name"],
    }


@pytest.mark.parametrize("kind", ["transform-join", "transform-inmemorylookup", "flow-crossjoin"])
def test_other_joins_name_their_columns_alike(kind: str) -> None:
    """The rows of a lookup name no view: the first view is the left one."""
    on = {"leftPath": lit("customer_id"), "rightPath": lit("id")}
    sample = joined("amount", "input1_amount", rows=table(on))
    sample.find("join").kind = kind
    found = lineage(event(run(sample), "Join")["outputs"][0])
    assert (found["amount"][0], found["input1_amount"][0]) == (["Left.amount"], ["Right.amount"])
    assert found["customer_id"][0] == ["Left.customer_id"]


@pytest.mark.parametrize("value", ["1", None, "'x'"])
def test_a_constant_is_no_join_key(value: str | None) -> None:
    """`1` = `1` joins everything with everything; no column is called `1`."""
    rows = table({"leftPath": expr(value), "rightPath": expr(value), "rightInputView": lit("input1")})  # type: ignore[arg-type]
    exported = run(joined("amount", "input1_amount", rows=rows), modern=True)
    assert columns(event(exported, "Left")["inputs"][0]) == ["amount"]
    assert "dataset" not in event(exported, "Join")["outputs"][0]["facets"]["columnLineage"]


GENERATED = '[{"id": 1, "head": {"day": "x", "rows": [1]}, "lines": [{"sku": "s", "qty": 2}], "tags": [1]}]'


def split(settings: Json, *uses: str) -> Sample:
    """A generator of a document with arrays, a JSON Splitter, a Mapper that uses fields of the elements."""
    sample = chain("transform-jsonsplitter", "It", settings, *uses)
    sample.find("gen").settings["editable_content"] = lit(GENERATED)
    return sample


PATHS = ('jsonPath($, "$.lines[*]")', 'jsonPath($, "lines[*]")  ', "$lines", "$.lines", "$['lines'][*]")


@pytest.mark.parametrize(
    ("path", "expression"), [*((path, marked) for path in PATHS for marked in (True, False)), ("$.[(_array)]", False)]
)
def test_the_path_of_a_splitter_may_be_an_expression(path: str, expression: bool) -> None:
    """It names the field `lines`, nothing else."""
    sample = split({"path": {"value": path, "expression": expression}}, "sku", "qty")
    sample.parameters = {"array": "lines"}
    exported = run(sample)
    assert lineage(event(exported, "It")["outputs"][0]) == {
        "qty": (["Gen.lines"], "Mapping"),
        "sku": (["Gen.lines"], "Mapping"),
    }
    assert warnings(exported) == []


def test_a_splitter_with_parents_keeps_the_scalars_around_the_array() -> None:
    """Not the other arrays and objects; a field of the elements stays one."""
    sample = split({"path": lit('jsonPath($, "$.lines[*]")'), "includeParents": lit(True)}, "sku", "id")
    assert lineage(event(run(sample, nested=Nested.PATH), "It")["outputs"][0]) == {
        "id": (["Gen.id"], "Mapping"),
        "sku": (["Gen.lines"], "Mapping"),
    }
    deeper = split({"path": lit("$head.rows"), "includeParents": lit(True)}, "day", "id")
    assert lineage(event(run(deeper, nested=Nested.PATH), "It")["outputs"][0]) == {
        "day": (["Gen.head.day"], "Mapping"),
        "id": (["Gen.id"], "Mapping"),
    }


def test_a_splitter_with_parents_behind_an_open_input_says_what_it_cannot_tell() -> None:
    """A used field may be of the elements or of what is around them: both are given, with a warning."""
    sample = Sample("open", "Open")
    select(sample, "read", "Read", "s", "t")
    sample.snap("it", "transform-jsonsplitter", "It", {"path": lit("$lines"), "includeParents": lit(True)})
    sample.snap("use", "transform-datatransform", "Use", mapping((expr("$sku"), "$sku")))
    sample.link("read", "it", "use")
    exported = run(sample)
    assert lineage(event(exported, "It")["outputs"][0])["sku"][0] == ["Read.lines", "Read.sku"]
    assert any("sku may come from either" in message for message in warnings(exported))


@pytest.mark.parametrize(("use", "found"), [("head.day", "head"), ("day", "day")])
def test_an_included_path_is_found_by_its_whole_path_or_its_name(use: str, found: str) -> None:
    """Whichever the successors use."""
    sample = split({"path": lit("$lines"), "includePaths": table({"includePath": lit("$head.day")})}, "sku", use)
    got = lineage(event(run(sample), "It")["outputs"][0])
    assert got == {found: (["Gen.head"], "Mapping"), "sku": (["Gen.lines"], "Mapping")}


def test_a_sort_is_by_its_path_not_by_its_direction() -> None:
    """A row of sortPaths has another text before it."""
    rows = table({"sortOrderInd": lit("global"), "sortPath": lit("$a")})
    it = event(run(chain("transform-sort", "It", {"sortPaths": rows}, "a"), modern=True), "It")
    assert [use["field"] for use in it["outputs"][0]["facets"]["columnLineage"]["dataset"]] == ["a"]


@pytest.mark.parametrize(
    "kind",
    [
        *(
            f"transform-{format_}formatter"
            for format_ in ("csv", "json", "xml", "excel", "avro", "parquet", "fixedwidth")
        ),
        *(f"transform-{format_}parser" for format_ in ("csv", "json", "xml", "excel", "avro", "parquet", "hl7")),
        "transform-recordreplay",
        "mldatapreparation-typeconverter",
        "transform-documenttobinary",
        "binary-compress",
    ],
)
def test_formatters_and_parsers_pass_columns_through(kind: str) -> None:
    """All columns, each from its namesake; nobody has to teach them."""
    exported = run(chain(kind, "It", {}, "a", binary=("output0",)))
    assert lineage(event(exported, "It")["outputs"][0]) == {"a": (["Gen.a"], "Mapping"), "b": (["Gen.b"], "Mapping")}
    assert warnings(exported) == []


@pytest.mark.parametrize(
    "kind",
    [
        "awsbedrock-awsbedrockconverseapi",
        "azureopenai-azureopenaitoolcalling",
        "llmutils-messageappender",
        "slack-sendmessage",
        "mongo-execute",
        "sqlserver-storedprocedure",
        "rest-post",
    ],
)
def test_snaps_that_call_something_have_their_input_under_original(kind: str) -> None:
    """What they answer comes from nowhere."""
    exported = run(chain(kind, "It", {}, "original.a", "answer"))
    found = lineage(event(exported, "It")["outputs"][0])
    assert found == {"answer": ([], ""), "original": (["Gen.a", "Gen.b"], "Mapping")}
    assert warnings(exported) == []


@pytest.mark.parametrize(
    ("kind", "settings", "side", "name"),
    [
        ("mongo-insert", {"queryDB": lit("app"), "collectionName": lit("log")}, "outputs", "MongoDB | app.log"),
        ("dynamics-read", {"entity": lit("contacts")}, "inputs", "Dynamics | contacts"),
        ("servicenow-create", {"tableName": lit("incident")}, "outputs", "ServiceNow | incident"),
        ("hadoop-parquetreader", {"directory": lit("hdfs://h:8020/p")}, "inputs", "HDFS | h:8020/p"),
        ("binary-ftpget", {"filePath": lit("sftp://h/in")}, "inputs", "SFTP | h/in"),
        ("hadoop-hdfswrite", {"filename": lit("hdfs://h/p/x")}, "outputs", "HDFS | h/p/x"),
        ("salesforce-bulkquery", {"objectType": lit("Lead")}, "inputs", "Salesforce | Lead"),
        ("db2-insert", {"tableName": lit("s.t")}, "outputs", "DB2 | s.t"),
    ],
)
def test_endpoints_of_other_packs(kind: str, settings: Json, side: str, name: str) -> None:
    """Stores, applications and files that public pipelines use."""
    it = event(run(chain(kind, "It", settings)), "It")
    assert name in [f"{dataset['namespace']} | {dataset['name']}" for dataset in it[side]]


def test_a_csv_generator_has_the_columns_of_its_header() -> None:
    """Whatever separates them."""
    sample = chain("flow-filter", "It", {}, "Unit Price")
    sample.find("gen").kind = "transform-csvgenerator"
    sample.find("gen").settings["editable_content"] = lit('id;"Unit Price";note\\n1;2;a,b')
    assert columns(event(run(sample), "Gen")["outputs"][0]) == ["Unit Price", "id", "note"]


def test_grouped_documents_lie_below_the_target_field() -> None:
    """A splitter behind it finds them again; the fields that group stand beside it."""
    sample = chain("transform-groupbyfields", "It", {"fields": table({"field": lit("$a")}), "targetField": lit("g")})
    sample.snap("split", "transform-jsonsplitter", "Split", {"path": lit("$g")})
    sample.snap("after", "transform-datatransform", "After", mapping((expr("$b.c"), "$c")))
    sample.link("it", "split", "after")
    exported = run(sample, nested=Nested.PATH)
    assert lineage(event(exported, "It")["outputs"][0]) == {
        "a": (["Gen.a"], "Mapping"),
        "g.a": (["Gen.a"], "Mapping"),
        "g.b.c": (["Gen.b.c"], "Mapping"),
    }
    assert lineage(event(exported, "Split")["outputs"][0])["b.c"] == (["It.g.b.c"], "Mapping")


def test_a_gate_has_each_input_below_the_label_of_its_view() -> None:
    """As its successors read it."""
    sample = Sample("gate", "Gate")
    for key in ("x", "y"):
        sample.snap(key, "transform-datatransform", f"Gen {key}", mapping((lit(1), f"$v{key}")), inputs={})
    sample.snap("it", "flow-gate", "It", inputs={"input0": "input0", "input101": "input1"})
    sample.snap("use", "transform-datatransform", "Use", mapping((expr("$input0.length"), "$n")))
    sample.link("x", "it", "use")
    sample.link("y", "it@input101")
    found = lineage(event(run(sample, nested=Nested.PATH), "It")["outputs"][0])
    assert found == {"input0.vx": (["Gen x.vx"], "Mapping"), "input1.vy": (["Gen y.vy"], "Mapping")}


def test_bytes_are_in_content() -> None:
    """All columns make the content; what is parsed out of a content comes from there."""
    to_document = run(chain("transform-binarytodocument", "It", {}, "content", "encoding"))
    found = lineage(event(to_document, "It")["outputs"][0])
    assert found == {"content": (["Gen.a", "Gen.b"], "Mapping"), "encoding": ([], "")}
    sample = chain("transform-jsonparser", "It", {}, "id")
    sample.find("gen").settings["editable_content"] = lit('[{"content": "..."}]')
    parsed = lineage(event(run(sample), "It")["outputs"][0])
    assert parsed == {"content": (["Gen.content"], "Mapping"), "id": (["Gen.content"], "Mapping")}


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (mapping((expr("$nowhere.x + $a"), "$v")), "uses nowhere.x"),
        (mapping((expr("$original.a"), "$v")), "uses original.a"),
    ],
)
def test_a_field_that_nothing_has_is_a_warning_with_its_snap(settings: Json, told: str) -> None:
    """It is no origin, so that every origin is a column of its dataset."""
    exported = run(chain("transform-datatransform", "It", settings))
    assert f"Snap 'It': {told}, which nothing that reaches it has; left without origin" in warnings(exported)
    assert lineage(event(exported, "It")["outputs"][0])["v"][0] == [name for name in ["Gen.a"] if "$a" in str(settings)]


@pytest.mark.parametrize(
    "asks", ['$.hasPath("note.x") ? $note.x : ""', '$note.get("x", "")', '$.hasOwnProperty("note")']
)
def test_a_field_that_is_asked_for_first_is_a_note(asks: str) -> None:
    """The pipeline knows that it may be missing."""
    exported = run(chain("transform-datatransform", "It", mapping((expr(asks), "$v"))))
    assert warnings(exported) == []
    assert any(str(finding).startswith("note: ") and "asks for note" in str(finding) for finding in exported.findings)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("flow-filter", {"filterExpression": expr("$nowhere > 1")}),
        ("transform-jsonsplitter", {"path": lit("$nowhere")}),
        ("transform-aggregate", {"groupByFields": table({"field": lit("$nowhere")})}),
        ("oracle-execute", {"sqlStatement": lit("INSERT INTO t (x) VALUES ($nowhere)")}),
        ("oracle-delete", {"tableName": lit("t"), "deleteCondition": lit("x = $nowhere")}),
    ],
)
def test_every_kind_of_snap_tells_what_it_misses(kind: str, settings: Json) -> None:
    """Filters, paths, groups, statements, conditions."""
    exported = run(chain(kind, "It", settings))
    assert any(message.startswith("Snap 'It': uses nowhere, ") for message in warnings(exported))


def test_a_writing_snap_passes_on_what_reaches_it_and_nothing_else() -> None:
    """A field that is used below `original` and did not reach the Snap is not there."""
    settings = {"tableName": lit("s.t")}
    sample = chain("oracle-insert", "It", settings, "original.a", "original.z", account=account("shop", "postgres"))
    exported = run(sample, nested=Nested.PATH)
    assert lineage(event(exported, "It")["outputs"][0]) == {
        "original.a": (["Gen.a"], "Mapping"),
        "original.b.c": (["Gen.b.c"], "Mapping"),
    }
    assert "Snap 'Use': uses original.z, which nothing that reaches it has; left without origin" in warnings(exported)


def test_a_literal_condition_binds_fields() -> None:
    """`x = $a` without an expression mark."""
    settings = {"tableName": lit("t"), "updateCondition": lit("id = $a AND note = '$b'")}
    it = event(run(chain("oracle-update", "It", settings, "original.a"), modern=True), "It")
    uses = it["outputs"][-1]["facets"]["columnLineage"]["dataset"]
    assert [(use["field"], use["transformations"][0]["subtype"]) for use in uses] == [("a", "FILTER")]


def test_the_answer_of_a_write_is_not_taken_for_the_other_side_of_a_join() -> None:
    """An Insert puts out `original` and a status; a field that only a Script could have is the Script's."""
    sample = Sample("answer", "Answer")
    sample.snap("gen", "transform-jsongenerator", "Gen", {"editable_content": lit('[{"id": 1}]')}, inputs={})
    insert(sample, "load", "Load", "s", "t")
    sample.snap("pass", "flow-filter", "Pass")
    sample.snap("script", "script-script", "Script", inputs={})
    on = {"leftPath": expr("$original.id"), "rightPath": expr("$id"), "rightInputView": lit("input1")}
    views = {"input0": "input0", "input1": "input1"}
    sample.snap("join", "transform-multijoin", "Join", {"joinPaths": table(on)}, inputs=views)
    sample.snap("use", "transform-datatransform", "Use", mapping((expr("$day"), "$day")))
    sample.link("gen", "load", "pass", "join", "use")
    sample.link("script", "join@input1")
    exported = run(sample)
    assert lineage(event(exported, "Join")["outputs"][0])["day"] == (["Script.day"], "Mapping")
    assert warnings(exported) == []


def test_a_pipeline_execute_whose_child_is_not_here_has_its_input_under_original() -> None:
    """What comes back from the child is unknown."""
    it = event(run(chain("flow-pipeexec", "It", {"pipeline": lit("Elsewhere")}, "original.a", "total")), "It")
    assert lineage(it["outputs"][0]) == {"original": (["Gen.a"], "Mapping"), "total": ([], "")}


def test_a_query_that_depends_on_documents_in_its_condition_only() -> None:
    """Object and fields are known; what the condition uses filters."""
    query = expr('"SELECT Id, Owner.Name FROM Case WHERE Day = \'" + _day + "\' AND Kind = \'" + $a + "\'"')
    exported = run(chain("salesforce-query", "It", {"soqlQuery": query}, "Id"), modern=True, nested=Nested.PATH)
    it = event(exported, "It")
    assert columns(it["inputs"][1]) == ["Id", "Owner.Name"]
    assert [use["field"] for use in it["outputs"][0]["facets"]["columnLineage"]["dataset"]] == ["a"]
    assert warnings(exported) == []


def test_a_name_that_cannot_be_resolved_is_told_once() -> None:
    """Not also as missing."""
    exported = run(chain("binary-write", "It", {"filename": expr('"out-" + Date.now()')}))
    assert len(warnings(exported)) == 1


def test_a_lookup_has_its_input_under_original() -> None:
    """Beside the columns of the table, without a setting for it."""
    settings = {"tableName": lit("s.t")}
    sample = chain("postgres-lookup", "It", settings, "rate", "original.a", account=account("shop", "postgres"))
    found = lineage(event(run(sample), "It")["outputs"][0])
    assert found == {"original": (["Gen.a", "Gen.b"], "Mapping"), "rate": (["shopdb.s.t.rate"], "Mapping")}
