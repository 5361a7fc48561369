"""The example files: as their script makes them, and telling the day that examples/README.md promises."""

from __future__ import annotations

import json
import re
import runpy
from collections import Counter, defaultdict
from typing import Any

import pytest

from tests.support import ROOT

EXAMPLES = ROOT / "examples"
NAMES = ("airflow-day.ndjson", "dbt-day.ndjson", "spark-day.ndjson")


def events(*names: str) -> list[dict[str, Any]]:
    return [json.loads(line) for name in names for line in (EXAMPLES / name).read_bytes().splitlines()]


def test_files_are_what_the_script_makes() -> None:
    """Run `python examples/make_examples.py` after changing it: the files are never edited by hand."""
    made = runpy.run_path(str(EXAMPLES / "make_examples.py"))["example_files"]()
    assert sorted(made) == sorted(NAMES)
    for name, content in made.items():
        assert content == (EXAMPLES / name).read_bytes(), name
    assert sorted(path.name for path in EXAMPLES.glob("*json*")) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_one_day_in_order(name: str) -> None:
    """20 to 60 events, all on 2026-11-20, in the order of their times."""
    times = [event["eventTime"] for event in events(name)]
    assert 20 <= len(times) <= 60
    assert times == sorted(times)
    assert {time[:10] for time in times} == {"2026-11-20"}


def test_every_name_is_invented() -> None:
    """All addresses are under .invalid or .example, or are those of a specification."""
    hosts = {"example.invalid", "openlineage.io", "egeria-project.org"}
    text = b"".join((EXAMPLES / name).read_bytes() for name in NAMES).decode()
    for address in (part.split('"')[0] for part in text.split("https://")[1:]):
        host = address.split("/")[0]
        assert host in hosts or host.endswith(".kestrel.example")


def test_the_day_has_the_promised_runs() -> None:
    """38 runs: one retry after a failure, one abort, one run that never ends, two failed dbt runs."""
    types = defaultdict(list)
    jobs = {}
    for event in events(*NAMES):
        if "run" in event:
            types[event["run"]["runId"]].append(event["eventType"])
            jobs[event["run"]["runId"]] = event["job"]["name"]
    ends = {run: kinds[-1] for run, kinds in types.items()}
    assert Counter(ends.values()) == {"COMPLETE": 33, "FAIL": 3, "ABORT": 1, "RUNNING": 1}
    by_end = {end: sorted(jobs[run] for run in ends if ends[run] == end) for end in set(ends.values())}
    assert by_end["FAIL"] == [
        "dbt-run-kestrel_shop",
        "kestrel_shop.mart_daily_revenue.test",
        "shop_ingest.extract_payments",
    ]
    assert by_end["RUNNING"] == ["returns_scoring.score"]
    assert by_end["ABORT"] == ["newsletter.push_subscribers"]
    assert "shop_ingest.extract_payments" in by_end["COMPLETE"]


def test_every_failed_run_says_why() -> None:
    """A FAIL carries an errorMessage facet, and no other event does."""
    for event in events(*NAMES):
        if "run" in event:
            assert ("errorMessage" in event["run"]["facets"]) == (event["eventType"] == "FAIL")


def test_there_is_one_job_event_and_one_dataset_event() -> None:
    """Events without a run are part of the day."""
    kinds = Counter(event["schemaURL"].rsplit("/", 1)[1] for event in events(*NAMES))
    assert kinds["JobEvent"] == kinds["DatasetEvent"] == 1


def test_the_three_tools_form_one_lineage() -> None:
    """What one tool reads is what the tool before it wrote: the shop's tables reach the revenue mart."""
    feeds = defaultdict(set)
    for event in events(*NAMES):
        for output in event.get("outputs", []):
            feeds[output["name"]] |= {dataset["name"] for dataset in event["inputs"]}
    reached, open_ends = set(), ["dwh.mart.mart_daily_revenue"]
    while open_ends:
        name = open_ends.pop()
        reached.add(name)
        open_ends += feeds[name] - reached
    assert reached >= {"shop.public.orders", "shop.public.customers", "shop.public.payments"}


def test_column_lineage_names_columns_that_exist() -> None:
    """Each edge of the column lineage joins columns of the two datasets' schemas."""
    schemas: dict[tuple[str, str], set[str]] = {}
    edges = []
    for event in events(*NAMES):
        for dataset in event.get("inputs", []) + event.get("outputs", []):
            key = (dataset["namespace"], dataset["name"])
            facets = dataset["facets"]
            schemas[key] = {column["name"] for column in facets["schema"]["fields"]}
            for column, sources in facets.get("columnLineage", {}).get("fields", {}).items():
                edges.append((key, column))
                edges += [((f["namespace"], f["name"]), f["field"]) for f in sources["inputFields"]]
    assert len(edges) > 50
    for dataset_key, column in edges:
        assert column in schemas[dataset_key], (dataset_key, column)


def test_the_readme_counts_right() -> None:
    """The totals and run ids that examples/README.md names are those of the files."""
    everything = events(*NAMES)
    runs = {event["run"]["runId"]: event for event in everything if "run" in event}
    sightings, assertions, tests = set(), 0, 0
    for event in (event for event in everything if "run" in event):
        tests += len(event["run"]["facets"].get("test", {}).get("tests", []))
        for side in ("inputs", "outputs"):
            for dataset in event[side]:
                sightings.add((event["run"]["runId"], side, dataset["namespace"], dataset["name"]))
                quality = dataset.get("inputFacets", {}).get("dataQualityAssertions", {})
                assertions += len(quality.get("assertions", []))
    readme = (EXAMPLES / "README.md").read_text()
    totals = f"{len(everything)} events, {len(runs)} runs, {len(sightings)} dataset sightings"
    assert f"{totals}, {assertions} assertions, {tests} tests." in readme
    named = [runs[run]["job"]["name"] for run in re.findall(r"`([0-9a-f-]{36})`", readme)]
    assert named == ["shop_ingest.extract_payments", "nightly_silver.join_order_lines"]
    for name in NAMES:
        part = events(name)
        ids = {event["run"]["runId"] for event in part if "run" in event}
        assert f"| `{name}` | {len(part)} | {len(ids)} |" in readme
