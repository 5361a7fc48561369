"""What a run tells: datasets, facets, counts, parents, templates, single events, settings."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import numpy as np
import pytest
import yaml
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset
from openlineage.client.facet_v2 import schema_dataset, tags_job
from openlineage.client.naming.dataset import Postgres

from lineagelog import sdk
from lineagelog.sdk import (
    EventType,
    LineageRun,
    RunRef,
    column_lineage_facet,
    current_run,
    emit_lineage,
    lineage_run,
    propagate,
    schema_facet,
)
from tests.specification import validate

from .conftest import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Validate = Callable[[dict[str, Any]], None]


@pytest.fixture(autouse=True)
def always_valid(memory: Memory) -> Iterator[None]:
    """Whatever a test here emits is valid."""
    yield
    for event in memory.events:
        validate(event)


# --- datasets and facets --------------------------------------------------------------------------------------------


def test_all_forms_of_a_dataset_mix(memory: Memory) -> None:
    """Strings, dicts, helpers, objects of the client, naming helpers; the namespace where none is given."""
    facet = schema_dataset.SchemaDatasetFacet(fields=[schema_dataset.SchemaDatasetFacetFields("a", "int")])
    inputs = [
        "db/a",
        {"name": "db/b", "namespace": "other"},
        schema_facet("db/c", [("x", "int")]),
        InputDataset("ns", "d", facets={"schema": facet}),
        Postgres("db.example", "5432", "shop", "public", "orders"),
    ]
    with lineage_run("job", inputs=inputs, outputs="db/alone", dataset_namespace="mine"):
        pass
    event = memory.events[0]
    assert [(dataset["namespace"], dataset["name"]) for dataset in event["inputs"]] == [
        ("mine", "db/a"),
        ("other", "db/b"),
        ("mine", "db/c"),
        ("ns", "d"),
        ("postgres://db.example:5432", "shop.public.orders"),
    ]
    assert event["inputs"][3]["facets"]["schema"]["fields"] == [{"name": "a", "type": "int", "fields": []}]
    assert event["outputs"][0]["name"] == "db/alone"


def test_helpers_nest(memory: Memory) -> None:
    """One dataset has a schema and a column lineage, in either order."""
    lineage = {"x": [{"source": "db/a", "field": "p"}, {"source": "db/b", "field": "q", "operation": "SUM"}]}
    one = schema_facet(column_lineage_facet("db/t", lineage), [("x", "int")])
    two = column_lineage_facet(schema_facet({"name": "db/t", "namespace": "ns"}, [("x", "int")]), lineage)
    assert one["facets"] == two["facets"]
    assert two["namespace"] == "ns"
    with lineage_run("job", outputs=[one, two], dataset_namespace="mine"):
        pass
    fields = [o["facets"]["columnLineage"]["fields"]["x"]["inputFields"] for o in memory.events[0]["outputs"]]
    assert [[field["namespace"] for field in each] for each in fields] == [["mine", "mine"], ["mine", "mine"]]
    assert fields[0][1]["transformations"] == [{"type": "DIRECT", "subtype": "AGGREGATION", "description": "SUM"}]


def test_source_columns_have_the_namespace_of_their_input(memory: Memory) -> None:
    """A source that is one of the inputs is that dataset, wherever it lives; a given namespace is kept."""
    sources = [
        {"source": "shop.public.orders", "field": "id"},
        {"source": "elsewhere", "field": "id"},
        {"source": "elsewhere", "field": "id", "namespace": "given"},
    ]
    with lineage_run(
        "job",
        inputs=[Postgres("db.example", "5432", "shop", "public", "orders")],
        outputs=[column_lineage_facet("db/t", {"x": sources})],
        dataset_namespace="mine",
    ):
        pass
    fields = memory.events[0]["outputs"][0]["facets"]["columnLineage"]["fields"]["x"]["inputFields"]
    assert [field["namespace"] for field in fields] == ["postgres://db.example:5432", "mine", "given"]


def test_the_documented_return_value() -> None:
    """`schema_facet` returns what the documentation says, but for the producer."""
    made = schema_facet("default_dataset/orders", [("order_id", "Integer"), ("amount", "Number")])
    assert made["facets"]["schema"].pop("_producer").startswith("urn:lineagelog:sdk:")
    assert made == {
        "name": "default_dataset/orders",
        "facets": {
            "schema": {
                "_schemaURL": "https://openlineage.io/spec/facets/1-2-0/SchemaDatasetFacet.json",
                "fields": [{"name": "order_id", "type": "Integer"}, {"name": "amount", "type": "Number"}],
            }
        },
    }


def test_helpers_do_not_change_what_they_are_given() -> None:
    """A dict that is passed on stays as it is."""
    given = {"name": "db/t", "facets": {"x": {"a": 1}}}
    column_lineage_facet(schema_facet(given, [("a", "b")]), {"a": {"source": "s", "field": "f"}})
    assert given == {"name": "db/t", "facets": {"x": {"a": 1}}}


class Odd:
    """An object whose every use fails."""

    def __repr__(self) -> str:
        return "Odd()"  # pytest names tests by it

    def __str__(self) -> str:
        raise RuntimeError("odd")

    def __iter__(self) -> Any:
        raise RuntimeError("odd")


@pytest.mark.parametrize(
    "wrong",
    [
        {"inputs": 5},
        {"inputs": [None, 5, {}, {"name": ""}, {"name": 3}, ["x"]]},
        {"inputs": Odd()},
        {"outputs": [Odd()]},
        {"outputs": [{"name": "x", "facets": 5}]},
        {"outputs": [{"name": "x", "facets": {"schema": 5}}]},
        {"job_facets": 5},
        {"job_facets": {"x": Odd(), "y": [1]}},
        {"run_facets": {"x": {"y": Odd()}}},
        {"run_id": "manual__2026-11-20"},
        {"run_id": Odd()},
        {"template": "/no/such/file"},
        {"template": Odd()},
        {"parent": 5},
        {"parent": RunRef("no uuid", "ns", "job")},
        {"run_facets": {"parent": {"run": 5}, "tags": {"tags": [5]}}},
        {"job_facets": {"tags": {"tags": [{"key": "no value"}]}}},
        {"namespace": 5, "dataset_namespace": Odd()},
    ],
    ids=str,
)
def test_wrong_arguments_never_reach_the_job(memory: Memory, wrong: dict[str, Any]) -> None:
    """The body runs, the run is told as far as it can be."""
    with lineage_run("job", **wrong) as run:
        result = 42
    assert result == 42
    assert memory.types() == ["START", "COMPLETE"]
    assert UUID(run.run_id)


@pytest.mark.parametrize("name", [None, "", 5, Odd()], ids=["None", "empty", "number", "odd"])
def test_wrong_names_never_reach_the_job(memory: Memory, name: Any) -> None:
    """A run without a usable name is called `unknown`."""
    with lineage_run(name):
        pass
    assert memory.events[0]["job"]["name"] == ("5" if name == 5 else "unknown")


@pytest.mark.parametrize(
    "call",
    [
        lambda: schema_facet(Odd(), [("a", "b")]),
        lambda: schema_facet("t", 5),
        lambda: schema_facet("t", [5, None, (), Odd(), ("ok", "int")]),
        lambda: column_lineage_facet("t", 5),
        lambda: column_lineage_facet("t", {"a": None, "b": {"source": "x"}, "c": 5, "d": [], "e": {"field": "x"}}),
        lambda: column_lineage_facet("t", Odd()),
    ],
)
def test_helpers_never_raise(memory: Memory, call: Callable[[], Any]) -> None:
    """What they return can be emitted."""
    with lineage_run("job", outputs=[call()]):
        pass
    assert len(memory.events[0]["outputs"]) == 1


def test_a_run_id_that_is_no_uuid_stands_for_itself(memory: Memory) -> None:
    """The same text gives the same UUID, so that the events of a run come together."""
    ids = {emit_lineage("OTHER", "job", run_id="manual__2026-11-20") for _ in range(2)}
    assert len(ids) == 1
    assert {event["run"]["runId"] for event in memory.events} == ids


def test_a_given_run_id_and_a_made_one(memory: Memory) -> None:
    """Given: kept. Made: a UUID of version 4."""
    given = str(uuid4())
    with lineage_run("job", run_id=given) as run:
        assert run.run_id == given
    with lineage_run("job") as run:
        assert UUID(run.run_id).version == 4
    assert len(memory.of(given)) == 2


def test_what_is_added_while_it_runs(memory: Memory) -> None:
    """Inputs, outputs, facets, counts; numpy's numbers too; START does not have them, RUNNING has those so far."""
    with lineage_run(
        "job", inputs=["db/in"], outputs=["db/out"], job_facets={"documentation": {"description": "d"}}
    ) as run:
        run.add_input("db/more", rows=7)
        run.row_count("db/out", np.int64(5), size=np.float64(100.0), files=1)
        run.row_count("db/in", 9)
        run.running()
        run.add_output(schema_facet("db/new", [("a", "int")]), rows=1)
        run.add_run_facet("nominalTime", {"nominalStartTime": datetime(2026, 11, 20, tzinfo=UTC)})
        run.add_job_facet("sql", {"query": "SELECT 1"})
        run.add_dataset_facet("db/out", "lifecycleStateChange", {"lifecycleStateChange": "OVERWRITE"})
        run.add_run_facet("team_cost", {"eur": float("nan"), "by": {1, 2}, "at": (1, 2)})
    start, running, complete = memory.events
    assert [d["name"] for d in start["inputs"] + start["outputs"]] == ["db/in", "db/out"]
    assert start["job"]["facets"]["documentation"]["description"] == "d"
    assert [d["name"] for d in running["inputs"] + running["outputs"]] == ["db/in", "db/more", "db/out"]
    assert [d["name"] for d in complete["outputs"]] == ["db/out", "db/new"]
    out, new = complete["outputs"]
    statistics = {k: out["outputFacets"]["outputStatistics"][k] for k in ("rowCount", "size", "fileCount")}
    assert statistics == {"rowCount": 5, "size": 100, "fileCount": 1}
    assert new["outputFacets"]["outputStatistics"]["rowCount"] == 1
    assert [d["inputFacets"]["inputStatistics"]["rowCount"] for d in complete["inputs"]] == [9, 7]
    assert out["facets"]["lifecycleStateChange"]["lifecycleStateChange"] == "OVERWRITE"
    assert complete["job"]["facets"]["sql"]["query"] == "SELECT 1"
    assert complete["run"]["facets"]["nominalTime"]["nominalStartTime"] == "2026-11-20T00:00:00+00:00"
    assert complete["run"]["facets"]["team_cost"]["at"] == [1, 2]
    assert complete["run"]["facets"]["team_cost"]["_schemaURL"].endswith("OpenLineage.json#/$defs/RunFacet")


def test_methods_never_raise(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    """Nonsense costs a warning; after the end nothing more is emitted."""
    with lineage_run("job") as run:
        run.add_input(None)
        run.add_output(Odd())
        run.row_count("unknown", 5)
        run.add_output("db/t", rows="many")
        run.add_run_facet("x", 5)
        run.add_dataset_facet("unknown", "x", {})
    run.running()
    run.add_output("late")
    assert memory.types() == ["START", "COMPLETE"]
    assert "there is no input or output 'unknown'" in caplog.text


def test_events_are_snapshots(memory: Memory) -> None:
    """Later changes of the job's own dicts do not reach what was said."""
    facet = {"description": "then"}
    with lineage_run("job", job_facets={"documentation": facet}) as run:
        facet["description"] = "now"
        run.running()
    assert {event["job"]["facets"]["documentation"]["description"] for event in memory.events} == {"then"}


def test_tags_of_the_configuration_join_those_of_the_job(memory: Memory) -> None:
    """The client's tags (openlineage.yml) are added to the job's, given as dict or as the client's object."""
    config = {"tags": {"job": {"team": "data"}}}
    sdk.configure(OpenLineageClient(transport=memory, config=config))
    for tags in (
        {"tags": [{"key": "env", "value": "test", "source": "USER"}]},
        tags_job.TagsJobFacet(tags=[tags_job.TagsJobFacetFields("env", "test", "USER")]),
    ):
        emit_lineage("OTHER", "job", job_facets={"tags": tags})
        keys = [tag["key"] for tag in memory.events[-1]["job"]["facets"]["tags"]["tags"]]
        assert keys == ["env", "team"]


# --- parents --------------------------------------------------------------------------------------------------------


def parent_of(memory: Memory, job: str) -> tuple[str, str] | None:
    """The names of the parent and root jobs."""
    facet = next(e for e in memory.events if e["job"]["name"] == job)["run"]["facets"].get("parent")
    return (facet["job"]["name"], facet["root"]["job"]["name"]) if facet else None


def test_nested_runs(memory: Memory) -> None:
    """Parent and root; after the inner run the outer one is current again."""
    with lineage_run("a") as a:
        with lineage_run("b"), lineage_run("c"):
            pass
        assert current_run() is a
        with lineage_run("d"):
            pass
    with lineage_run("e"):
        pass
    assert current_run() is None
    assert {job: parent_of(memory, job) for job in "abcde"} == {
        "a": None,
        "b": ("a", "a"),
        "c": ("b", "a"),
        "d": ("a", "a"),
        "e": None,
    }


def run_named(name: str) -> None:
    with lineage_run(name):
        pass


def test_threads_are_children_of_the_main_threads_run(memory: Memory) -> None:
    """A plain thread and a pool's worker, though Python gives them no context; nested in the thread as well."""
    with lineage_run("outer"), lineage_run("inner"):
        thread = threading.Thread(target=run_named, args=("thread",))
        thread.start()
        thread.join()
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(run_named, ["pool 1", "pool 2"]))
    thread = threading.Thread(target=run_named, args=("afterwards",))
    thread.start()
    thread.join()
    for job in ("thread", "pool 1", "pool 2"):
        assert parent_of(memory, job) == ("inner", "outer")
    assert parent_of(memory, "afterwards") is None


def test_propagate_names_the_parent_for_any_thread(memory: Memory) -> None:
    """Where a thread's run starts further threads, `propagate` carries the run over."""

    def worker() -> None:
        with lineage_run("worker"):
            thread = threading.Thread(target=propagate(run_named), args=("sub",))
            thread.start()
            thread.join()

    with lineage_run("outer"):
        thread = threading.Thread(target=worker)
        thread.start()
        thread.join()
    assert parent_of(memory, "worker") == ("outer", "outer")
    assert parent_of(memory, "sub") == ("worker", "outer")


def test_tasks_have_their_own_parents(memory: Memory) -> None:
    """Tasks side by side do not mix; `to_thread` keeps the task's run; a thread beside many runs has no parent."""

    async def task(name: str) -> None:
        async with lineage_run(name):
            await asyncio.sleep(0.01)
            async with lineage_run(f"{name} step"):
                await asyncio.to_thread(run_named, f"{name} thread")
            await asyncio.get_running_loop().run_in_executor(None, run_named, f"{name} executor")

    async def main() -> None:
        await asyncio.gather(task("one"), task("two"))

    asyncio.run(main())
    for name in ("one", "two"):
        assert parent_of(memory, f"{name} step") == (name, name)
        assert parent_of(memory, f"{name} thread") == (f"{name} step", name)
    with lineage_run("main"):

        async def inner() -> None:
            await asyncio.gather(task("three"), task("four"))

        asyncio.run(inner())
    assert parent_of(memory, "three") == parent_of(memory, "four") == ("main", "main")


def test_a_generator_does_not_leave_its_run_behind(memory: Memory) -> None:
    """A run that ended inside a generator closed elsewhere is nobody's parent."""

    def generate() -> Iterator[int]:
        with lineage_run("generator"):
            yield 1

    made = generate()
    next(made)
    del made
    run_named("next")
    assert parent_of(memory, "next") is None


def test_an_explicit_parent(memory: Memory) -> None:
    """`parent=`: False for none, a run, or a reference to one."""
    ref = RunRef(str(uuid4()), "ns", "elsewhere")
    with lineage_run("a") as a:
        pass
    with lineage_run("outer"):
        for name, parent in (("none", False), ("run", a), ("ref", ref)):
            with lineage_run(name, parent=parent):
                run_named(f"{name} child")
    assert parent_of(memory, "none") is None
    assert parent_of(memory, "none child") == ("none", "none")
    assert parent_of(memory, "run") == ("a", "a")
    assert parent_of(memory, "ref") == ("elsewhere", "elsewhere")
    assert parent_of(memory, "ref child") == ("ref", "elsewhere")


ID, ROOT = "0198b6f0-0000-7000-8000-000000000001", "0198b6f0-0000-7000-8000-000000000002"


@pytest.mark.parametrize(
    ("variables", "parent", "root"),
    [
        ({"OPENLINEAGE_PARENT_ID": f"ns/dag.task/{ID}"}, (ID, "ns", "dag.task"), (ID, "ns", "dag.task")),
        ({"OPENLINEAGE_PARENT_ID": f"s3://ns/x/job/{ID}"}, (ID, "s3://ns/x", "job"), (ID, "s3://ns/x", "job")),
        (
            {"OPENLINEAGE_PARENT_ID": f"ns/dag.task/{ID}", "OPENLINEAGE_ROOT_PARENT_ID": f"ns/dag/{ROOT}"},
            (ID, "ns", "dag.task"),
            (ROOT, "ns", "dag"),
        ),
        (
            {
                "OPENLINEAGE_PARENT_RUN_ID": ID,
                "OPENLINEAGE_PARENT_JOB_NAME": "job",
                "OPENLINEAGE_PARENT_JOB_NAMESPACE": "pn",
                "OPENLINEAGE_ROOT_PARENT_RUN_ID": ROOT,
                "OPENLINEAGE_ROOT_PARENT_JOB_NAME": "root",
            },
            (ID, "pn", "job"),
            (ROOT, "default", "root"),
        ),
        ({"OPENLINEAGE_PARENT_ID": "ns/job/no-uuid"}, None, None),
        ({"OPENLINEAGE_PARENT_ID": "nonsense"}, None, None),
        ({"OPENLINEAGE_PARENT_RUN_ID": ID}, None, None),
    ],
)
def test_parents_from_the_environment(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], parent: Any, root: Any
) -> None:
    """Set by Airflow's macros for dbt and Spark, and by others; a nested run keeps the environment's root."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with lineage_run("job"):
        run_named("nested")
    facet = memory.events[0]["run"]["facets"].get("parent")
    if parent is None:
        assert facet is None
        return
    assert (facet["run"]["runId"], facet["job"]["namespace"], facet["job"]["name"]) == parent
    top = facet["root"]
    assert (top["run"]["runId"], top["job"]["namespace"], top["job"]["name"]) == root
    assert parent_of(memory, "nested") == ("job", root[2])


def test_the_parent_of_an_airflow_task(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a task: the run id that Airflow's provider makes (logical date, names, try), the DAG run as root."""
    from openlineage.client.uuid import generate_static_uuid

    moment = datetime(2026, 11, 20, 3, tzinfo=UTC)
    for name, value in {
        "AIRFLOW_CTX_DAG_ID": "shop",
        "AIRFLOW_CTX_TASK_ID": "load",
        "AIRFLOW_CTX_EXECUTION_DATE": "2026-11-20T03:00:00+00:00",
        "AIRFLOW_CTX_TRY_NUMBER": "2",
        "AIRFLOW__OPENLINEAGE__NAMESPACE": "prod",
    }.items():
        monkeypatch.setenv(name, value)
    run_named("job")
    facet = memory.events[0]["run"]["facets"]["parent"]
    assert facet["job"] == {"namespace": "prod", "name": "shop.load", "facets": {}}
    assert facet["run"]["runId"] == str(generate_static_uuid(moment, b"prod.shop.load.2.-1"))
    assert facet["root"]["run"]["runId"] == str(generate_static_uuid(moment, b"prod.shop.0"))


def test_the_environment_for_another_process(memory: Memory) -> None:
    """`run.environment()` makes the runs of a subprocess children of this one."""
    code = "from lineagelog.sdk import parents; import os; print(parents.environment_ancestry(os.environ).parent.name)"
    with lineage_run("outer"), lineage_run("inner") as run:
        import os

        done = subprocess.run(
            [sys.executable, "-c", code], env=os.environ | run.environment(), capture_output=True, text=True, check=True
        )
    assert done.stdout == "inner\n"
    assert run.environment()["OPENLINEAGE_ROOT_PARENT_ID"].startswith("default/outer/")


# --- templates ------------------------------------------------------------------------------------------------------

DESIGN = {
    "eventTime": "2026-01-01T00:00:00Z",
    "eventType": "COMPLETE",
    "producer": "https://example.invalid/design",
    "run": {
        "runId": ID,
        "facets": {
            "design_note": {
                "_producer": "x:y",
                "_schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunFacet",
                "text": "n",
            }
        },
    },
    "job": {"namespace": "satsuma://w", "name": "load", "facets": {"documentation": {"description": "as designed"}}},
    "inputs": [{"namespace": "snowflake://a", "name": "raw.orders"}],
    "outputs": [
        {"namespace": "snowflake://a", "name": "mart.orders", "facets": {"schema": {"fields": [{"name": "id"}]}}}
    ],
}


@pytest.mark.parametrize("form", ["dict", "file", "array", "lines"])
def test_a_template_is_decorated_with_the_run(memory: Memory, tmp_path: Path, form: str) -> None:
    """Job, inputs, outputs and facets of the design; id, times and counts of the run."""
    other = json.loads(json.dumps(DESIGN))
    other["job"]["name"] = "other"
    given: Any = DESIGN
    if form != "dict":
        given = tmp_path / "design.json"
        text = {
            "file": json.dumps(DESIGN),
            "array": json.dumps([other, DESIGN]),
            "lines": json.dumps(other) + "\n" + json.dumps(DESIGN) + "\n",
        }
        given.write_text(text[form])
    with lineage_run("load", template=given, inputs=["extra"]) as run:
        run.row_count("mart.orders", 12)
    event = memory.events[1]
    assert event["job"]["namespace"] == "satsuma://w"
    assert event["job"]["name"] == "load"
    assert event["job"]["facets"]["documentation"]["description"] == "as designed"
    assert event["job"]["facets"]["jobType"]["processingType"] == "BATCH"
    assert event["run"]["runId"] == run.run_id != ID
    assert event["run"]["facets"]["design_note"]["text"] == "n"
    assert event["eventTime"] > "2026-11"
    assert [dataset["name"] for dataset in event["inputs"]] == ["raw.orders", "extra"]
    output = event["outputs"][0]
    assert output["facets"]["schema"]["fields"] == [{"name": "id"}]
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 12


def test_a_template_names_the_job(memory: Memory) -> None:
    """Without a job name the template's counts."""
    with lineage_run(template=DESIGN):
        pass
    assert memory.events[0]["job"]["name"] == "load"


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"job": 5}'])
def test_a_bad_template_is_logged(memory: Memory, tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture) -> None:
    """The run goes without."""
    (tmp_path / "t.json").write_text(text)
    with lineage_run("job", template=tmp_path / "t.json"):
        pass
    assert memory.types() == ["START", "COMPLETE"]
    assert "template" in caplog.text


# --- single events --------------------------------------------------------------------------------------------------


def test_emit_lineage(memory: Memory) -> None:
    """One event as told; the run id comes back."""
    given = str(uuid4())
    made = emit_lineage(
        EventType.OTHER,
        "job",
        run_id=given,
        inputs=["db/a"],
        outputs=[{"name": "db/b", "namespace": "ns"}],
        job_facets={"documentation": {"description": "d"}},
        event_time="2026-11-20T10:00:00+02:00",
    )
    event = memory.events[0]
    assert made == given == event["run"]["runId"]
    assert event["eventTime"] == "2026-11-20T08:00:00.000000Z"
    assert (event["eventType"], event["inputs"][0]["name"], event["outputs"][0]["namespace"]) == ("OTHER", "db/a", "ns")
    assert UUID(emit_lineage("start", "job")).version == 4
    assert memory.types() == ["OTHER", "START"]
    assert [kind.value for kind in EventType] == ["START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"]


def test_emit_lineage_never_raises(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    """An unknown type is not sent, a time that is none is now; an id comes back in any case."""
    assert UUID(emit_lineage("FINISHED", "job"))
    assert UUID(emit_lineage("START", "job", event_time="yesterday"))
    assert UUID(emit_lineage("START", "job", event_time="2026-11-20T10:00:00"))
    assert memory.types() == ["START", "START"]
    assert memory.events[1]["eventTime"] == "2026-11-20T10:00:00.000000Z"
    assert "there is no event type 'FINISHED'" in caplog.text


def test_emit_lineage_within_a_run(memory: Memory) -> None:
    """An event of another run is a child; a further event of the run itself is not its own child."""
    with lineage_run("outer") as run:
        emit_lineage("COMPLETE", "child")
        emit_lineage("RUNNING", "outer", run_id=run.run_id)
    assert parent_of(memory, "child") == ("outer", "outer")
    assert all("parent" not in event["run"]["facets"] for event in memory.of(run.run_id))


# --- settings -------------------------------------------------------------------------------------------------------


def test_namespaces_from_the_configuration(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arguments before `configure` before openlineage.yml before the environment."""

    def emitted(**arguments: Any) -> tuple[str, str]:
        emit_lineage("OTHER", "job", inputs=["a"], **arguments)
        return memory.events[-1]["job"]["namespace"], memory.events[-1]["inputs"][0]["namespace"]

    client = OpenLineageClient(transport=memory)
    assert emitted() == ("default", "default")
    monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "env")
    sdk.configure(client)
    assert emitted() == ("env", "env")
    monkeypatch.setenv("OPENLINEAGE__LINEAGELOG__DATASET_NAMESPACE", "env-data")
    sdk.configure(client)
    assert emitted() == ("env", "env-data")
    Path("openlineage.yml").write_text(yaml.safe_dump({"lineagelog": {"namespace": "file"}}))
    sdk.configure(client)
    assert emitted() == ("file", "env-data")
    sdk.configure(client, namespace="set", dataset_namespace="set-data")
    assert emitted() == ("set", "set-data")
    assert emitted(namespace="given", dataset_namespace="given-data") == ("given", "given-data")


def test_wrong_settings_are_logged(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    """An unknown key and a value of the wrong kind: one line each, the default counts."""
    Path("openlineage.yml").write_text(yaml.safe_dump({"lineagelog": {"wiat": 1, "wait": "long"}}))
    sdk.configure(OpenLineageClient(transport=memory))
    assert "there is no setting lineagelog.wiat" in caplog.text
    assert "the setting lineagelog.wait must be a float" in caplog.text


def test_a_notebooks_running_loop(memory: Memory) -> None:
    """As a notebook's cell is run: top-level code with `await` inside a loop that runs; `with` and `async with`."""
    import ast

    cell = """
with lineage_run("plain", outputs=["a/b"]) as run:
    x = 1
async with lineage_run("async"):
    await asyncio.sleep(0)
    with lineage_run("inner"):
        pass
"""
    code = compile(cell, "<cell>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)

    async def kernel() -> None:
        await eval(code, {"lineage_run": lineage_run, "asyncio": asyncio})

    asyncio.run(kernel())
    assert [(e["job"]["name"], e["eventType"]) for e in memory.events] == [
        ("plain", "START"),
        ("plain", "COMPLETE"),
        ("async", "START"),
        ("inner", "START"),
        ("inner", "COMPLETE"),
        ("async", "COMPLETE"),
    ]
    assert parent_of(memory, "inner") == ("async", "async")


def test_a_decorated_function_keeps_its_face(memory: Memory) -> None:
    """Name, docstring, kind; each call is a run, the current one inside."""

    @lineage_run("job", outputs=["a/b"])
    def load(count: int) -> int:
        """Load."""
        run = current_run()
        assert isinstance(run, LineageRun)
        run.row_count("a/b", count)
        return count

    @lineage_run("async job")
    async def wait() -> None:
        """Wait."""

    assert (load.__name__, load.__doc__, load(3), load(4)) == ("load", "Load.", 3, 4)
    assert asyncio.iscoroutinefunction(wait)
    counts = [e["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] for e in memory.events[1::2]]
    assert counts == [3, 4]
    assert len({event["run"]["runId"] for event in memory.events}) == 2
