"""Builds the sample pipelines and their run information: `python -m snaplogic.build` in tests/export does it.

Snaps are written as one call each; ids, views, links, statistics and the two dialects follow from that.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).parent / "samples"
ORG = "5d1e0c0ffee0a11ce0000002"
_NAMES = uuid.UUID("7f0c9a54-1f0b-4a53-9d1c-6c1a3d8a2b10")
Json = dict[str, Any]


def lit(value: Any) -> Json:
    """A wrapped literal."""
    return {"value": value, "expression": False}


def expr(text: str) -> Json:
    """A wrapped expression."""
    return {"value": text, "expression": True}


def identity(*parts: str) -> str:
    """A stable UUID for a sample's part."""
    return str(uuid.uuid5(_NAMES, "/".join(parts)))


def table(*rows: Json) -> Json:
    """A wrapped table."""
    return {"value": list(rows)}


def mapping(*pairs: tuple[Json, str]) -> Json:
    """The settings of a Mapper: (expression or literal, target path)."""
    rows = [{"expression": source, "targetPath": {"value": target}} for source, target in pairs]
    return {"transformations": {"value": {"mappingRoot": {"value": "$"}, "mappingTable": {"value": rows}}}}


def account(label: str, kind: str) -> Json:
    """A reference to an account by label and asset id."""
    return {
        "value": {
            "label": {"value": label, "label": f"../shared/{label}", "expression": False},
            "ref_class_id": {"value": f"com-snaplogic-snap-api-sql-accounts-{kind}databaseaccount"},
            "ref_id": {"value": identity("account", label), "expression": False},
        }
    }


@dataclass
class Built:
    """One Snap of a sample."""

    key: str
    kind: str
    label: str
    settings: Json
    inputs: dict[str, str]
    outputs: dict[str, str]
    binary: tuple[str, ...] = ()
    account: Json | None = None
    state: str = "Completed"
    failure: tuple[str, str, str] | None = None
    counts: Json = field(default_factory=dict)
    disabled: bool = False


@dataclass
class Sample:
    """One pipeline with one run."""

    name: str
    title: str
    artifact: bool = False
    parameters: dict[str, str] = field(default_factory=dict)
    parent: Sample | None = None
    snaps: list[Built] = field(default_factory=list)
    links: list[tuple[str, str, str, str]] = field(default_factory=list)
    open_inputs: list[tuple[str, str]] = field(default_factory=list)
    open_outputs: list[tuple[str, str]] = field(default_factory=list)
    state: str = "Completed"
    documents: int = 100

    def snap(self, key: str, kind: str, label: str, settings: Json | None = None, **more: Any) -> str:
        """Add a Snap: views default to one document input and one document output."""
        inputs = more.pop("inputs", {"input0": "input0"})
        outputs = more.pop("outputs", {"output0": "output0"})
        self.snaps.append(Built(key, kind, label, settings or {}, inputs, outputs, **more))
        return key

    def link(self, *keys: str) -> None:
        """Link Snaps in a row; `key:view` names an output, `key@view` an input other than the first."""
        for source, target in pairwise(keys):
            src, _, src_view = source.partition(":")
            dst, _, dst_view = target.partition("@")
            src, dst = src.partition("@")[0], dst.partition(":")[0]
            src_view = src_view or next(iter(self.find(src).outputs))
            dst_view = dst_view or next(iter(self.find(dst).inputs))
            self.links.append((src, src_view, dst, dst_view))

    def find(self, key: str) -> Built:
        """The Snap with that key."""
        return next(snap for snap in self.snaps if snap.key == key)

    def id(self, key: str) -> str:
        """The real id of a Snap."""
        return identity(self.name, key)

    def file_id(self, key: str) -> str:
        """The id in the file: the real one, or a placeholder."""
        if not self.artifact:
            return self.id(key)
        at = [snap.key for snap in self.snaps].index(key) + 1
        return f"11111111-1111-1111-1111-{at:012d}"

    @property
    def snode(self) -> str:
        """The id of the pipeline."""
        return identity(self.name, "snode").replace("-", "")[:24]

    @property
    def run_id(self) -> str:
        """The UUID part of the ruuid."""
        return identity(self.name, "run")

    @property
    def ruuid(self) -> str:
        """The run's id."""
        return f"{ORG}_{self.run_id}"

    def pipeline(self) -> Json:
        """The `.slp` document."""
        label: Json = {} if self.artifact else {"value": self.title}
        rows = [{"key": {"value": key}, "value": {"value": value}} for key, value in self.parameters.items()]
        views = {
            side: {f"{self.file_id(key)}_{view}": _view(f"{key} - {view}") for key, view in opened}
            for side, opened in (("input", self.open_inputs), ("output", self.open_outputs))
        }
        document: Json = {
            "link_serial": 100 + len(self.links),
            "link_map": {f"link{101 + at}": self._link(*link) for at, link in enumerate(self.links)},
            "property_map": {
                "info": {"label": label, "notes": {"value": None}},
                "error": {"error_behavior": {"value": "none"}},
                "settings": {"param_table": {"value": rows}, "imports": {"value": []}},
                **views,
            },
            "render_map": {"detail_map": {}},
            "snap_map": {self.file_id(snap.key): self._snap(snap) for snap in self.snaps},
        }
        if self.artifact:
            return {
                "class_id": "com-snaplogic-pipeline",
                "class_version": 9,
                "target_runtime": "cloud",
                **document,
            }
        own = {"class_fqid": "com-snaplogic-pipeline_9", "snode_id": self.snode, "instance_version": 3}
        return {
            **own,
            "instance_id": identity(self.name, "pipeline"),
            **document,
            "path_id": "/Acme/retail/jobs",
        }

    def _link(self, src: str, src_view: str, dst: str, dst_view: str) -> Json:
        link: Json = {"src_id": self.file_id(src), "src_view_id": src_view}
        link |= {"dst_id": self.file_id(dst), "dst_view_id": dst_view}
        return link if self.artifact else {**link, "isGoto": False}

    def _snap(self, snap: Built) -> Json:
        class_id = f"com-snaplogic-snaps-{snap.kind}"
        mode = "Disabled" if snap.disabled else "Validate & Execute"
        properties: Json = {
            "info": {"label": {"value": snap.label}, "notes": {}},
            "input": {view: _view(label, view in snap.binary) for view, label in snap.inputs.items()},
            "output": {view: _view(label, view in snap.binary) for view, label in snap.outputs.items()},
            "error": {"error0": _view("error0"), "error_behavior": {"value": "fail"}},
            "settings": {"execution_mode": {"value": mode}, **snap.settings},
            "view_serial": 101,
        }
        if snap.account is not None:
            properties["account"] = {"account_ref": snap.account}
        if self.artifact:
            return {"class_id": class_id, "class_version": 1, "property_map": properties}
        own = {"class_fqid": f"{class_id}_1-main40011", "class_id": class_id, "class_version": 1}
        return {
            **own,
            "instance_id": self.id(snap.key),
            "property_map": properties,
            "class_build_tag": "main40011",
        }

    def run(self) -> Json:
        """The API's answer for the run."""
        parent, root = self.parent, self.parent or self
        artifact = {self.id(snap.key): self.file_id(snap.key) for snap in self.snaps} if self.artifact else {}
        answer: Json = {
            "instance_id": self.ruuid,
            "ruuid": self.ruuid,
            "root_ruuid": root.ruuid,
            "root_path": f"/Acme/retail/jobs/{root.title}",
            "parent_ruuid": parent.ruuid if parent else None,
            "parent_path": f"/Acme/retail/jobs/{parent.title}" if parent else None,
            "create_time": "2026-02-03T04:05:06.000000+00:00",
            "time_stamp": "2026-02-03T04:05:17.250999+00:00",
            "cc_start_ms": 1770091506000,
            "cc_end_ms": 1770091517250,
            "class_id": identity(self.name, "pipeline"),
            "snode_id": self.snode,
            "label": self.title,
            "state": self.state,
            "path_id": "/Acme/retail/jobs",
            "references": [],
            "captured_env_map": {},
            "env_map": {},
            "failure": None,
            "reason": None,
            "resolution": None,
            "artifact_snap_id_map": artifact,
            "snap_map": {self.id(snap.key): self._ran(snap) for snap in self.snaps if not snap.disabled},
        }
        return {"response_map": answer, "http_status_code": 200}

    def _ran(self, snap: Built) -> Json:
        failure, reason, resolution = snap.failure or (None, None, None)
        sides = {"input": snap.inputs, "output": snap.outputs, "error": {"error0": ""}}
        defaults = {"input": self.documents, "output": self.documents, "error": 0}
        views = {
            f"{side}_views": {view: {"documents_count": snap.counts.get(view, defaults[side])} for view in names}
            for side, names in sides.items()
        }
        return {
            "class_id": self.id(snap.key),
            "snap_class_fqid": f"com-snaplogic-snaps-{snap.kind}_1-main40011",
            "label": snap.label,
            "state": snap.state,
            "instance_id": identity(self.name, snap.key, "instance"),
            "statistics": views,
            "failure": failure,
            "reason": reason,
            "resolution": resolution,
            "error_list": [],
        }


def _view(label: str, binary: bool = False) -> Json:
    return {"label": {"value": label}, "view_type": {"value": "binary" if binary else "document"}}


def select(sample: Sample, key: str, label: str, schema: str, name: str, pack: str = "postgres", **more: Any) -> str:
    """A Select without output fields, its table qualified and quoted as the Designer does it."""
    settings = {
        "schemaName": lit(f'"{schema}"'),
        "tableName": lit(f'"{schema}"."{name}"'),
        "outputFields": table(),
    }
    settings |= more.pop("settings", {})
    reference = more.pop("account", account("shop", "postgres"))
    views = {"inputs": {}, "outputs": {"outputRows": "rows"}} | more
    return sample.snap(key, f"{pack}-select", label, settings, account=reference, **views)


def insert(sample: Sample, key: str, label: str, schema: str, name: str, pack: str = "snowflake", **more: Any) -> str:
    """An Insert with a bare table name and a quoted schema."""
    settings = {"schemaName": lit(f'"{schema}"'), "tableName": lit(name)} | more.pop("settings", {})
    reference = more.pop("account", account("warehouse", "snowflake"))
    views = {"inputs": {"inputRows": "rows"}, "outputs": {"output101": "output101"}} | more
    return sample.snap(key, f"{pack}-insert", label, settings, account=reference, **views)


def chain(kind: str, label: str, settings: Json, *uses: str, **more: Any) -> Sample:
    """A generator of two fields, the Snap in question, and a Mapper that uses fields of it."""
    sample = Sample("one", "One")
    sample.snap(
        "gen",
        "transform-jsongenerator",
        "Gen",
        {"editable_content": lit('[{"a": 1, "b": {"c": 2}}]')},
        inputs={},
    )
    sample.snap("it", kind, label, settings, **more)
    sample.snap(
        "use",
        "transform-datatransform",
        "Use",
        mapping(*((expr(f"${use}"), f"$u{at}") for at, use in enumerate(uses))),
    )
    sample.link("gen", "it", "use")
    return sample


def files_to_files() -> Sample:
    """A CSV file through a parser, a Mapper with pass-through and a formatter into S3."""
    sample = Sample("files", "Prices: daily files")
    sample.snap(
        "read",
        "binary-simpleread",
        "Read prices",
        {"filePath": expr('"file:///data/in/" + _day + ".csv"')},
        inputs={},
        binary=("output0",),
    )
    sample.parameters = {"day": "2026-02-03"}
    sample.snap("parse", "transform-csvparser", "Parse", {"containsHeader": lit(True)}, binary=("input0",))
    sample.snap(
        "shape",
        "transform-datatransform",
        "Shape",
        {"passThrough": lit(True)}
        | mapping((expr("$price * $rate"), "$amount"), (expr("$note"), ""), (lit("EUR"), "currency")),
    )
    sample.snap("sort", "transform-sort", "Sort", {"sortPaths": table({"sortPath": lit("$sku")})})
    sample.snap("format", "transform-jsonformatter", "Format", binary=("output0",))
    sample.snap(
        "write",
        "binary-write",
        "Write",
        {"filename": lit("s3:///lake/prices/day.json")},
        binary=("input0",),
        outputs={},
    )
    sample.link("read", "parse", "shape", "sort", "format", "write")
    return sample


def orders_join() -> Sample:
    """Two tables joined (a column of both is prefixed), aggregated, loaded twice; names with colons."""
    sample = Sample("join", "Orders: join", parameters={"target": "ORDERS_BY_COUNTRY", "env": "prod"})
    select(sample, "orders", "Orders", "public", "orders")
    sample.snap(
        "order",
        "transform-datatransform",
        "Order: shape",
        mapping((expr("$id"), "$id"), (expr("$customer_id"), "$customer_id"), (expr("$net + $tax"), "$gross")),
    )
    select(sample, "customers", "Customers", "public", "customers")
    sample.snap(
        "customer",
        "transform-datatransform",
        "Customer",
        mapping(
            (expr("$id"), "$id"),
            (expr("$country.trim().toUpperCase()"), "$country"),
            (expr("$name"), "$name"),
        ),
    )
    rows = table({"leftPath": lit("$customer_id"), "rightPath": lit("$id"), "rightInputView": lit("c")})
    sample.snap(
        "join",
        "transform-multijoin",
        "Join",
        {"joinType": lit("Left Outer"), "joinPaths": rows},
        inputs={"input0": "order", "input101": "c"},
    )
    sample.snap(
        "copy",
        "flow-copy",
        "Copy",
        outputs={"output0": "a", "output101": "b"},
        counts={"output0": 100, "output101": 100},
    )
    sample.snap(
        "sum",
        "transform-aggregate",
        "By country",
        {
            "aggregateFields": table(
                {"function": lit("SUM"), "field": lit("$gross"), "resultField": lit("$gross_total")},
                {"function": lit("COUNT"), "field": lit(None), "resultField": lit("orders")},
            ),
            "groupByFields": table({"groupBy": lit("$country")}),
        },
        counts={"output0": 7},
    )
    insert(
        sample,
        "load",
        "Load",
        "SALES",
        "",
        settings={"tableName": expr("_target")},
        account=expr('_env == "prod" ? "../shared/warehouse" : "../shared/test"'),
        counts={"inputRows": 7, "output101": 7},
    )
    insert(
        sample,
        "raw",
        "Load raw",
        "dbo",
        "[dbo].[orders_raw]",
        pack="sqlserver",
        account=account("crm", "sqlserver"),
    )
    sample.link("orders", "order", "join", "copy", "sum", "load")
    sample.link("customers", "customer", "join@input101")
    sample.link("copy:output101", "raw")
    return sample


def router_errors() -> Sample:
    """A Router into three branches, united again; the Insert fails, errors go to a file, one Snap stops."""
    sample = Sample("router", "Route orders", state="Failed")
    select(sample, "read", "Read", "web", "`web`.`orders`", pack="mysql", account=account("web", "mysql"))
    sample.find("read").settings |= {"schemaName": lit("`web`"), "tableName": lit("`web`.`orders`")}
    routes = table(
        {"expression": expr("$amount > 1000"), "outputViewName": lit("large")},
        {"expression": expr("$country == 'DE'"), "outputViewName": lit("home")},
        {"expression": expr("true"), "outputViewName": lit("rest")},
    )
    sample.snap(
        "route",
        "flow-router",
        "Route",
        {"routes": routes, "firstMatch": lit(True)},
        outputs={"output0": "large", "output101": "home", "output102": "rest"},
        counts={"output0": 10, "output101": 50, "output102": 40},
    )
    for key, kind in (("large", "L"), ("home", "H")):
        sample.snap(
            key,
            "transform-datatransform",
            f"Mark {key}",
            mapping((expr("$id"), "$ID"), (expr("$amount"), "$AMOUNT"), (lit(kind), "$KIND")),
        )
    sample.snap(
        "rest",
        "transform-structuraltransform",
        "Mark rest",
        {
            "passThrough": lit("None - new map"),
            "mappingTable": table(
                {"operation": lit("move"), "sourcePath": lit("$id"), "targetPath": lit("$ID")},
                {"operation": lit("move"), "sourcePath": lit("$amount"), "targetPath": lit("$AMOUNT")},
            ),
        },
    )
    sample.snap("unite", "flow-union", "Unite", inputs={"input0": "a", "input101": "b", "input102": "c"})
    insert(
        sample,
        "load",
        "Load",
        "FIN",
        "ORDERS",
        pack="oracle",
        account=account("fin", "oracle"),
        state="Failed",
        failure=("SQL operation failed", 'ORA-00001: unique constraint "FIN"."PK" violated', "Check the key"),
        counts={"inputRows": 100, "error0": 3, "output101": 97},
    )
    sample.snap(
        "lost",
        "binary-write",
        "Keep errors",
        {"filename": lit("sftp://ops:secret@files.acme.example:2222/errors.json")},
    )
    sample.find("lost").counts = {"input0": 3}
    sample.snap("after", "flow-head", "After load", state="Stopped", counts={"input0": 0, "output0": 0})
    sample.link("read", "route", "large", "unite")
    sample.link("route:output101", "home", "unite@input101")
    sample.link("route:output102", "rest", "unite@input102")
    sample.link("unite", "load", "after")
    sample.link("load:error0", "lost")
    return sample


def nested_paths() -> Sample:
    """A topic with nested messages: odd names, a split array, a table of conditions, a producer."""
    sample = Sample("nested", "Nested events")
    sample.snap(
        "consume",
        "confluentkafka-confluentkafkaconsumer",
        "Consume",
        {"topics": table({"topic": lit("orders.v1")})},
        inputs={},
        account=account("kafka", "kafka"),
    )
    sample.snap(
        "flatten",
        "transform-datatransform",
        "Flatten",
        mapping(
            (expr("$value.order.id"), "$order.id"),
            (expr("$value.order['ship to'].city.trim()"), "$order.city"),
            (expr("$value.lines.filter(line => line.qty > 0)"), "$lines"),
            (expr('jsonPath($, "$.value.lines[*].sku")'), "$['all skus']"),
            (expr("'costs $5' + $value.currency"), "$note"),
        ),
    )
    sample.snap(
        "split",
        "transform-jsonsplitter",
        "Split",
        {"path": lit("$lines"), "includePaths": table({"includePath": lit("$order")})},
    )
    conditions = table(
        {"conditionalExpression": expr("$qty > 100"), "returnValue": lit("bulk"), "targetPath": lit("$size")},
        {
            "conditionalExpression": expr("$qty > 10"),
            "returnValue": expr("$label"),
            "targetPath": lit("$size"),
        },
    )
    sample.snap("size", "transform-conditional", "Size", {"conditionalTable": conditions, "evaluateAll": lit(False)})
    sample.snap(
        "out",
        "transform-datatransform",
        "Out",
        mapping((expr("$sku"), "$sku"), (expr("$size"), "$size"), (expr("$order.id"), "$order_id")),
    )
    sample.snap(
        "produce",
        "confluentkafka-confluentkafkaproducer",
        "Produce",
        {"topics": lit("lines.v1"), "valueMessage": expr("$")},
        account=account("kafka", "kafka"),
        outputs={},
    )
    sample.link("consume", "flatten", "split", "size", "out", "produce")
    return sample


def parent_and_child() -> tuple[Sample, Sample]:
    """A parent that hands documents to a child pipeline and loads what comes back."""
    parent = Sample("parent", "Parent")
    select(parent, "read", "Read", "public", "orders")
    parent.snap(
        "execute",
        "flow-pipeexec",
        "Enrich",
        {
            "pipeline": lit("../jobs/Child"),
            "params": table({"paramName": lit("tariff_table"), "paramValue": lit('"ref"."tariffs"')}),
        },
    )
    parent.snap(
        "shape",
        "transform-datatransform",
        "Shape",
        mapping((expr("$order_id"), "$ORDER_ID"), (expr("$total"), "$TOTAL")),
    )
    insert(parent, "load", "Load", "SALES", "TOTALS")
    parent.link("read", "execute", "shape", "load")
    child = Sample("child", "Child", parent=parent)
    child.snap(
        "entry",
        "transform-datatransform",
        "Entry",
        {"passThrough": lit(True)} | mapping((expr("$net * 1.19"), "$gross")),
    )
    select(
        child,
        "tariffs",
        "Tariffs",
        "ref",
        "",
        settings={"tableName": expr("_tariff_table"), "outputFields": table({"f": lit("fee")})},
    )
    rows = table({"leftPath": lit("$tariff"), "rightPath": lit("$code"), "rightInputView": lit("right")})
    child.snap(
        "join",
        "transform-multijoin",
        "Join",
        {"joinPaths": rows},
        inputs={"input0": "left", "input1": "right"},
    )
    child.snap(
        "exit",
        "transform-datatransform",
        "Exit",
        mapping((expr("$order_id"), "$order_id"), (expr("$gross + $fee"), "$total")),
    )
    child.link("entry", "join", "exit")
    child.link("tariffs", "join@input1")
    child.open_inputs, child.open_outputs = [("entry", "input0")], [("exit", "output0")]
    return parent, child


def artifact() -> Sample:
    """The Git dialect: placeholder ids, no label, no snode; a Script, an Execute, odd classes."""
    sample = Sample("artifact", "Nightly export", artifact=True)
    sample.snap(
        "query",
        "sqlserver-execute",
        "Query",
        {"sqlStatement": lit("SELECT c.id, c.email AS mail FROM [dbo].[contacts] c WHERE c.changed > '2026-01-01'")},
        inputs={},
        account=account("crm", "sqlserver"),
    )
    sample.snap(
        "script",
        "script-script",
        "Script",
        {"language": lit("PYTHON"), "editable_content": lit("pass  # $no_field")},
    )
    sample.snap("filter", "flow-filter", "Filter", {"filterExpression": expr("$mail.indexOf('@') > 0")})
    sample.snap("custom", "acme-magic", "Custom: magic")
    sample.snap("off", "flow-tail", "Off", disabled=True)
    sample.snap(
        "upload",
        "s3-s3upload",
        "Upload",
        {"bucket": lit("lake"), "objectKey": lit("/contacts/all.json")},
        outputs={},
    )
    sample.link("query", "script", "filter", "custom", "upload")
    sample.link("custom", "off")
    return sample


def forty() -> Sample:
    """Forty Snaps: eight tables, each filtered and mapped, united in pairs, joined, loaded twice."""
    sample = Sample("forty", "Forty Snaps")
    for at in range(8):
        select(sample, f"s{at}", f"Select {at}", "public", f"part_{at}")
        sample.snap(f"f{at}", "flow-filter", f"Filter {at}", {"filterExpression": expr("$active == true")})
        pairs = ((expr("$key"), "$key"), (expr(f"Math.round($v{at} * 100)"), f"$m{at // 2}"))
        sample.snap(f"m{at}", "transform-datatransform", f"Map {at}", mapping(*pairs))
        sample.link(f"s{at}", f"f{at}", f"m{at}")
    for at in range(4):
        sample.snap(f"u{at}", "flow-union", f"Union {at}", inputs={"input0": "a", "input1": "b"})
        sample.snap(f"o{at}", "transform-sort", f"Sort {at}", {"sortPaths": table({"sortPath": lit("$key")})})
        sample.link(f"m{2 * at}", f"u{at}", f"o{at}")
        sample.link(f"m{2 * at + 1}", f"u{at}@input1")
    rows = [{"leftPath": lit("$key"), "rightPath": lit("$key"), "rightInputView": lit(f"r{at}")} for at in (1, 2, 3)]
    sample.snap(
        "join",
        "transform-multijoin",
        "Join all",
        {"joinPaths": table(*rows)},
        inputs={"input0": "left", "input1": "r1", "input2": "r2", "input3": "r3"},
    )
    sample.link("o0", "join")
    for at in (1, 2, 3):
        sample.link(f"o{at}", f"join@input{at}")
    content = json.dumps([{"key": 1, "rate": 1.5, "name": "one"}, {"key": 2, "rate": 2, "name": "two", "vip": True}])
    sample.snap("gen", "transform-jsongenerator", "Constants", {"editable_content": lit(content)}, inputs={})
    rate = table({"leftPath": lit("$key"), "rightPath": lit("$key"), "rightInputView": lit("rates")})
    sample.snap(
        "rate",
        "transform-multijoin",
        "Join rates",
        {"joinPaths": rate},
        inputs={"input0": "all", "input1": "rates"},
    )
    sample.link("join", "rate")
    sample.link("gen", "rate@input1")
    sample.snap("copy", "flow-copy", "Copy", outputs={"output0": "wide", "output1": "narrow"})
    sample.snap(
        "narrow",
        "transform-datatransform",
        "Narrow",
        mapping(
            (expr("$key"), "$KEY"),
            (expr("$m0 + $m1 + $m2 + $m3"), "$TOTAL"),
            (expr("$vip ? $rate : 1"), "$RATE"),
        ),
    )
    insert(sample, "wide", "Load wide", "MART", "WIDE")
    insert(sample, "small", "Load narrow", "MART", "NARROW")
    sample.snap("head", "flow-head", "First", {"numberOfDocs": lit(1)}, counts={"output0": 1})
    sample.link("rate", "copy", "wide")
    sample.link("copy:output1", "narrow", "small", "head")
    return sample


def samples() -> list[Sample]:
    """All samples."""
    return [
        files_to_files(),
        orders_join(),
        router_errors(),
        nested_paths(),
        *parent_and_child(),
        artifact(),
        forty(),
    ]


ACCOUNTS = {
    "shop": ("postgres", "pg.acme.example", 5432, "shopdb"),
    "warehouse": ("snowflake", "acme.snowflakecomputing.com", 443, "ANALYTICS"),
    "crm": ("sqlserver", "crm.acme.example", 1433, "crm"),
    "fin": ("oraclethin", "fin.acme.example", 1521, "FINPDB"),
    "web": ("mysql", "web.acme.example", 3306, "webshop"),
}


def accounts() -> list[Json]:
    """The account assets: five databases and a Kafka cluster."""
    found = [
        _asset(label, kind, {"connectionProperties": {"value": _connection(*place)}})
        for label, (kind, *place) in ACCOUNTS.items()
    ]
    brokers = {"bootstrapServerList": table({"bootstrapServer": lit("broker.acme.example:9092")})}
    return [*found, _asset("kafka", "kafka", brokers)]


def _connection(host: str, port: int, database: str) -> Json:
    return {"hostname": {"value": host}, "portNumber": {"value": port}, "databaseName": {"value": database}}


def _asset(label: str, kind: str, settings: Json) -> Json:
    own = {
        "class_id": f"com-snaplogic-snap-api-sql-accounts-{kind}databaseaccount",
        "instance_id": identity("account", label),
    }
    properties = {"info": {"label": {"value": label}}, "settings": settings}
    return {"path": f"/Acme/shared/{label}", "account": {**own, "property_map": properties}}


def contents() -> dict[str, bytes]:
    """All sample files by name."""
    found: dict[str, Any] = {"accounts.json": accounts()}
    for sample in samples():
        found[f"{sample.name if not sample.artifact else sample.title}.slp"] = sample.pipeline()
        found[f"{sample.name}.run.json"] = sample.run()
    return {name: json.dumps(value, indent=1, ensure_ascii=False).encode() + b"\n" for name, value in found.items()}


if __name__ == "__main__":
    SAMPLES.mkdir(exist_ok=True)
    for name, data in contents().items():
        (SAMPLES / name).write_bytes(data)
