"""What the product tells of real producers' runs is what happened: the recordings against what_happened.toml."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from lineagelog.store import LogStore, Verifier

from .conftest import HERE, PAGE, append_shuffled, lines_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Json, Told

QUIET = re.compile(r"\.sql\.\d+$")
"""Runs that dbt makes of the statements of a model; the page only counts them, but for one that failed."""
INSERT = "execute_insert_into_hadoop_fs_relation_command"
DIGEST = (
    "ol_run",
    "ol_run_dataset",
    "ol_assertion",
    "ol_test",
    "v_ol_execution",
    "v_ol_execution_dataset",
    "v_ol_dataset_edge",
    "v_ol_column_edge",
    "v_ol_result",
)


# --- the recordings ---------------------------------------------------------------------------------------------------


def test_every_recording_has_its_page_and_tells_of_no_machine() -> None:
    """A recording without a page says nothing; people, places and days of a machine stay out of it."""
    files = list((HERE / "recordings").iterdir())
    assert sorted(PAGE) == sorted(path.stem for path in files)
    assert sum(path.stat().st_size for path in files) < 1_500_000
    for name in PAGE:
        text = b"\n".join(lines_of(name)).decode()
        assert re.findall(r'/root\b|/home/|/Users/|/tmp/|/work/|: ?"root"', text) == []
        assert set(re.findall(r"20\d\d-\d\d-\d\d(?=T)", text)) <= {"2026-03-01", "2026-03-02", "2026-03-03"}


def test_all_is_kept_and_the_digest_is_right(told: Told) -> None:
    """Each event is stored, none is refused, and `store verify` finds nothing."""
    assert told.query("SELECT count(*) FROM ol_event") == [(len(lines_of(told.name)),)]
    assert told.query("SELECT count(*) FROM ol_dead_letter") == [(0,)]
    assert list(Verifier(told.store).verify()) == []


def test_any_order_tells_the_same(told: Told, store: LogStore) -> None:
    """Events arrive in any order and batches: digest and views are the same."""
    append_shuffled(store, told.name, seed=2)
    with store.database.engine.connect() as connection:
        connection.exec_driver_sql("SET search_path TO openlineage")
        for table in DIGEST:
            statement = f"SELECT to_jsonb(v)::text FROM {table} v ORDER BY 1"
            assert [tuple(row) for row in connection.exec_driver_sql(statement)] == told.query(statement), table


# --- runs -------------------------------------------------------------------------------------------------------------


def test_lists_and_views_tell_what_came_of_a_run(told: Told) -> None:
    """`list runs` and `v_ol_execution` have the outcome, the last word, and no run more than there were."""
    quiet = [row for row in told.listed if QUIET.search(row["job_name"]) and row["outcome"] == "COMPLETE"]
    assert len(quiet) == told.happened.quiet_runs
    assert sorted(row["job_name"] for row in told.listed if row not in quiet) == sorted(
        run.job for run in told.happened.runs
    )
    listed = {row["run_id"]: (row["outcome"], row["status"]) for row in told.listed}
    for run_id, run in told.runs:
        assert listed[run_id] == (run.outcome, run.status or run.outcome), run
    assert dict(told.query("SELECT execution_id, outcome FROM v_ol_execution")) == {
        run_id: outcome for run_id, (outcome, _) in listed.items()
    }


def test_show_tells_of_a_run_what_the_page_does(told: Told) -> None:
    """`show` gives outcome, datasets, and the error that the producer gave, wherever it put it; else none."""
    for run_id, run in told.runs:
        shown = told.command("show", run_id).json
        (told_run,) = shown["runs"]
        assert told_run["outcome"] == run.outcome, run
        assert (told_run["error_message"] is None) == (run.error is None), (run, told_run)
        assert (run.error or "") in (told_run["error_message"] or ""), run
        sides = {
            side: {one["dataset_name"] for one in shown["datasets"] if one["direction"] == side} for side in ("I", "O")
        }
        assert sides == {"I": set(run.reads), "O": set(run.writes)}, run


# --- datasets ---------------------------------------------------------------------------------------------------------


def test_datasets_with_their_rows(told: Told) -> None:
    """What was read and written, by whom, and how many rows where that was said."""
    listed = told.command("list", "run-datasets").rows
    for side, of in (("I", "reads"), ("O", "writes")):
        found = {(row["run_id"], row["dataset_name"]) for row in listed if row["direction"] == side}
        assert found == {(run_id, name) for run_id, run in told.runs for name in getattr(run, of)}
    counted = {(row["run_id"], row["dataset_name"]): row["row_count"] for row in listed if row["row_count"] is not None}
    assert counted == {(run_id, name): count for run_id, run in told.runs for name, count in run.rows.items()}


def test_edges_lead_from_what_was_read_to_what_was_written(told: Told) -> None:
    """`v_ol_dataset_edge` has all pairs of a run, and none of two runs."""
    assert set(told.query("SELECT execution_id, from_name, to_name FROM v_ol_dataset_edge")) == {
        (run_id, source, target) for run_id, run in told.runs for source in run.reads for target in run.writes
    }


# --- results ----------------------------------------------------------------------------------------------------------


def test_each_check_has_one_result(told: Told) -> None:
    """`v_ol_result` tells each check once, however many events repeat it, and a skipped one is no failure."""
    statement = """
        SELECT run_id, concat(status, ' ', coalesce(severity, '-'), ' ', coalesce(type, 'test'), '(', column_name, ')')
        FROM v_ol_result"""
    assert sorted(told.query(statement)) == sorted((run_id, one) for run_id, run in told.runs for one in run.results)


# --- analyses ---------------------------------------------------------------------------------------------------------


def findings(told: Told, *words: str) -> list[Json]:
    """What analyses find on the days of the recordings."""
    asked = told.command("analyse", *words, "--since", "2026-03-01", "--until", "2026-03-04").json
    return [finding for answer in (asked if isinstance(asked, list) else [asked]) for finding in answer["findings"]]


@pytest.mark.parametrize(
    ("name", "dataset", "reached"),
    [
        ("spark_good_job", "file /srv/nests/clutches.csv", ["spark-warehouse/clutches", "eggs_per_species"]),
        ("dbt_logs_build", "duckdb://nests.duckdb nests.main.clutches", ["clean_clutches"]),
        ("airflow_cleared", "file /srv/nests/counts.csv", ["report.html", "announce"]),
        ("java_client", "postgres://db.example:5432 nests.public.birds", ["weights", "tell"]),
    ],
)
def test_blast_radius(name: str, dataset: str, reached: list[str], told_of: Callable[[str], Told]) -> None:
    """What was made of a dataset is found, through every run and by each of a table's names."""
    namespace, _, dataset_name = dataset.partition(" ")
    found = findings(told_of(name), "blast_radius", "--dataset", dataset_name, "--dataset-namespace", namespace)
    for end in reached:
        assert any(one["subject"]["name"].endswith(end) for one in found), (end, found)


@pytest.mark.parametrize(
    ("name", "analysis", "found"),
    [
        (
            "spark_failing_write",
            "incomplete_lifecycle",
            {
                "failed_child nest_count",
                f"fail_and_complete nest_count.{INSERT}.spark_failing_write_counted",
            },
        ),
        (
            "airflow_cleared",
            "failed_then_succeeded",
            {f"succeeded on retry nest_survey{task}" for task in ("", ".count", ".publish")},
        ),
    ],
)
def test_analyses_find_what_a_job_does_not_say_itself(
    name: str, analysis: str, found: set[str], told_of: Callable[[str], Told]
) -> None:
    """A Spark application that completes over a failed write; tries of Airflow, each of which is a run of its own."""
    answer = findings(told_of(name), analysis)
    assert {f"{one['change']} {one['subject']['name']}" for one in answer} == found


def test_no_drift(told: Told) -> None:
    """Nothing changed while the recordings were made, whatever failed."""
    assert findings(told, "lineage_drift", "schema_drift", "column_lineage_drift") == []
