"""Events, jobs and datasets: names, ids, times, kinds, consumers and what the options do to them."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta, timezone

import pytest

from lineagelog.errors import SettingsError
from lineagelog.export.satsuma import ExportOptions, NamespaceRule, SatsumaError
from lineagelog.export.satsuma.options import consumer_options, namespace_options

from .support import WHEN, run_export

SMALL = "schema a { x INT }\nschema b { y INT }\nmapping `load B` { source { a } target { b } x -> y }"
REPORTS = """
schema fact (note "Facts") { x INT }
schema fed (report, note "Fed by a mapping") { v INT }
schema alone (model, note "Nobody feeds me", owner "team") { v INT }
schema board (report, source {fact, fed}, tool Looker, note "The board") { v INT }
schema churn (ml_model, source fact, registry mlflow) { v INT }
mapping feed { source { fact } target { fed } x -> v }
"""


def test_an_event_has_what_the_specification_asks_for() -> None:
    """One COMPLETE RunEvent per mapping, with an empty run and a time in UTC."""
    made = run_export(SMALL)
    (event,) = made.events
    assert list(event) == [
        "eventTime",
        "eventType",
        "producer",
        "schemaURL",
        "run",
        "job",
        "inputs",
        "outputs",
    ]
    assert event["eventTime"] == "2025-01-31T06:00:00.000Z"
    assert event["eventType"] == "COMPLETE"
    assert event["producer"] == "https://github.com/EqualExperts/satsuma-lang"
    assert event["schemaURL"] == "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
    run_id = str(uuid.uuid5(uuid.NAMESPACE_URL, "satsuma://workspace/load-b"))
    assert event["run"] == {"runId": run_id, "facets": {}}


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("mapping `load B`", "load-b"),
        ("mapping _x_y", "x-y"),
        ("mapping `Ünïcode — Größe!`", "ünïcode-größe"),
        ("mapping `***`", "mapping"),
        ("mapping", "a-to-b"),
    ],
)
def test_job_names_are_kebab_case(head: str, name: str) -> None:
    """Lower case with hyphens; an anonymous mapping is called by its schemas."""
    made = run_export(f"schema a {{ x INT }}\nschema b {{ y INT }}\n{head} {{ source {{ a }} target {{ b }} }}")
    assert made.events[0]["job"]["name"] == name


def test_equal_job_names_are_numbered_in_file_order() -> None:
    """The second of a name gets -2, and every run id is its own."""
    made = run_export(
        SMALL
        + "\nmapping load_b { source { b } target { a } }\nmapping `LOAD b!` { source { b } target { a } }"
        + "\nnamespace n { mapping `load b` { source { a } target { b } } }"
        + "\nmapping { source { a } target { b } } mapping { source { a } target { b } }"
    )
    names = [event["job"]["name"] for event in made.events]
    assert names == ["load-b", "load-b-2", "load-b-3", "n.load-b", "a-to-b", "a-to-b-2"]
    assert len({event["run"]["runId"] for event in made.events}) == 6


def test_start_and_complete() -> None:
    """Two events with one run id and the same content."""
    start, complete = run_export(SMALL, event_kind="start-complete").events
    assert (start["eventType"], complete["eventType"]) == ("START", "COMPLETE")
    assert {**start, "eventType": "COMPLETE"} == complete


def test_job_events_have_no_run() -> None:
    """The specification's form for design-time lineage."""
    (event,) = run_export(SMALL, event_kind="job").events
    assert list(event) == ["eventTime", "producer", "schemaURL", "job", "inputs", "outputs"]
    assert event["schemaURL"].endswith("#/$defs/JobEvent")


def test_the_event_time_is_told_in_utc() -> None:
    """Whatever its offset."""
    when = datetime(2025, 1, 1, 1, 0, 0, 123999, tzinfo=timezone(timedelta(hours=2)))
    assert run_export(SMALL, event_time=when).events[0]["eventTime"] == "2024-12-31T23:00:00.123Z"


def test_reports_and_models_that_name_sources_are_jobs() -> None:
    """Named after the schema, with its kind and note, the sources as inputs and the consumer as output."""
    made = run_export(REPORTS)
    assert [event["job"]["name"] for event in made.events] == ["feed", "board", "churn"]
    board = made.event("board")
    assert board["job"]["facets"]["jobType"]["jobType"] == "REPORT"
    assert board["job"]["facets"]["documentation"]["description"] == "The board"
    assert [dataset["name"] for dataset in board["inputs"]] == ["fact", "fed"]
    (output,) = board["outputs"]
    assert (output["name"], list(output["facets"])) == (
        "board",
        ["schema", "documentation", "satsuma_consumer"],
    )
    assert made.event("churn")["job"]["facets"]["jobType"]["jobType"] == "MODEL"


def test_standalone_consumers_are_dataset_events() -> None:
    """A report or model that nothing feeds, with its documentation and ownership."""
    made = run_export(REPORTS, standalone_consumers=True)
    (event,) = [event for event in made.events if "dataset" in event]
    assert event["schemaURL"].endswith("#/$defs/DatasetEvent")
    assert event["dataset"]["name"] == "alone"
    assert {"documentation", "ownership", "satsuma_consumer"} <= event["dataset"]["facets"].keys()


def test_a_report_with_an_unknown_source_is_an_error() -> None:
    """A source that is not there would be lineage to nothing."""
    with pytest.raises(SatsumaError, match=r"main\.stm:2:27: report 'r' has the unknown source 'aa'; did you mean 'a'"):
        run_export("schema a { x INT }\nschema r (report, source {aa}) { v INT }")


def test_a_consumers_sources_are_found_in_its_namespace() -> None:
    """Like every other name; the job has the namespace in front."""
    made = run_export("namespace n { schema a { x INT } schema r (report, source {a}) { v INT } }")
    assert [dataset["name"] for dataset in made.event("n.r")["inputs"]] == ["n.a"]


def test_metrics_alone_give_no_event() -> None:
    """Only a mapping that targets a metric does."""
    assert run_export("schema a { x INT }\nschema m (metric, source a) { v INT }").events == []


def test_namespaces_by_pattern_and_tool() -> None:
    """A rule for a schema, a Satsuma namespace or a key; the tool of a report first; the rest the default."""
    made = run_export(
        "namespace crm { schema a { x INT } schema b { x INT } }\n"
        "schema pos_x { x INT }\nschema rest { x INT }\n"
        "schema board (report, tool Looker, source {crm::a, crm::b, pos_x, rest}) { v INT }",
        namespace_rules=(
            NamespaceRule("crm::b", "postgres://b"),
            NamespaceRule("crm", "postgres://crm"),
            NamespaceRule("pos_*", "oracle://pos"),
        ),
        consumer_namespaces=(("looker", "looker://acme"),),
    )
    event = made.event("board")
    assert [dataset["namespace"] for dataset in (*event["inputs"], *event["outputs"])] == [
        "postgres://crm",
        "postgres://b",
        "oracle://pos",
        "snowflake://acme",
        "looker://acme",
    ]


def test_the_namespace_holds_in_column_lineage_too() -> None:
    """Input fields name the dataset as the inputs do."""
    made = run_export(SMALL, namespace_rules=(NamespaceRule("a", "mysql://h"),), naming="raw.schema")
    assert made.lineage("load-b")["y"]["inputFields"][0]["namespace"] == "mysql://h"
    assert made.sources("load-b", "y") == ["raw.a.x"]


@pytest.mark.parametrize(
    ("naming", "names"),
    [
        ("[namespace.]schema", ["a", "n.b"]),
        ("database.namespace.schema", ["dw.a", "dw.n.b"]),
        ("database.schema.table", ["dw.a", "dw.n.b"]),
        ("schema", ["a", "b"]),
        ("raw-[namespace-]schema", ["raw-a", "raw-n-b"]),
        ("my_schema.schema", ["my_schema.a", "my_schema.b"]),
    ],
)
def test_naming_patterns(naming: str, names: list[str]) -> None:
    """Words are replaced, brackets fall away when empty, everything else stands."""
    made = run_export(
        "schema a { x INT }\nnamespace n { schema b { y INT } mapping m { source { a } target { b } } }",
        naming=naming,
        database="dw",
    )
    (event,) = made.events
    assert [event["inputs"][0]["name"], event["outputs"][0]["name"]] == names


def test_two_schemas_with_one_dataset_name_are_an_error() -> None:
    """The naming pattern must tell them apart."""
    text = "schema a { x INT }\nnamespace n { schema a { y INT } }\nmapping o { source { a } target { n::a } }"
    with pytest.raises(SettingsError, match=r"'a' and 'n::a' would both be the dataset snowflake://acme a"):
        run_export(text, naming="schema")


def test_a_schema_without_a_namespace_is_an_error() -> None:
    """The schema is named."""
    with pytest.raises(SettingsError, match="schema 'b' has no dataset namespace"):
        run_export(SMALL, dataset_namespace=None, namespace_rules=(NamespaceRule("a", "x://y"),))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"event_kind": "fail"}, "the event kind 'fail' is none of"),
        ({"job_namespace": " "}, "job namespace is empty"),
        ({"producer": "me"}, "producer 'me' is not a URI"),
        ({"naming": "[schema]"}, "lacks the word 'schema' outside of brackets"),
        ({"naming": "a[b.schema"}, "unmatched or nested bracket"),
        ({"naming": "database.schema"}, "needs the name of the database"),
        ({"event_time": datetime(2025, 1, 1)}, "needs an offset from UTC"),  # noqa: DTZ001
    ],
)
def test_options_that_cannot_be_used(options: dict[str, object], message: str) -> None:
    """The error says which option and what is wrong with it."""
    with pytest.raises(SettingsError, match=message.replace("[", r"\[")):
        ExportOptions(**{"event_time": WHEN, **options})  # type: ignore[arg-type]


def test_namespace_options_are_read() -> None:
    """`NAMESPACE` for all, `PATTERN=NAMESPACE` for some; an equals sign in a URI is none between the two."""
    assert namespace_options(("mssql://h;db=x", "crm::*=postgres://c?a=b")) == (
        "mssql://h;db=x",
        (NamespaceRule("crm::*", "postgres://c?a=b"),),
    )
    with pytest.raises(SettingsError, match="two dataset namespaces for everything"):
        namespace_options(("a://b", "c://d"))
    with pytest.raises(SettingsError, match="a dataset namespace is empty"):
        namespace_options(("crm=",))


def test_consumer_options_are_read() -> None:
    """`TOOL=NAMESPACE`, or an error."""
    assert consumer_options(("looker=looker://acme",)) == (("looker", "looker://acme"),)
    with pytest.raises(SettingsError, match="'looker' is not tool=namespace"):
        consumer_options(("looker",))


def test_the_same_spec_gives_the_same_events() -> None:
    """Two exports are equal, whatever was exported before."""
    assert run_export(REPORTS).events == run_export(REPORTS).events


def test_after_an_edit_the_events_say_the_new_truth() -> None:
    """The run keeps its id; a dropped column, source and arrow are gone from the event."""
    before = run_export(SMALL).events[0]
    after = run_export(
        "schema c { z INT }\nschema b { w INT }\nmapping `load B` { source { c } target { b } z -> w }",
        event_time=datetime(2025, 2, 1, tzinfo=UTC),
    ).events[0]
    assert after["run"]["runId"] == before["run"]["runId"]
    assert "'a'" not in str(after)
    assert "'y'" not in str(after)
