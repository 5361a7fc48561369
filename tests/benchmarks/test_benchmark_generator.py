"""The generated benchmark events: reproducible, of the measured mix, in order, as a client sends them."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks.generator import generate, main

if TYPE_CHECKING:
    from pathlib import Path


def events_of(documents: list[bytes]) -> list[dict[str, Any]]:
    return [json.loads(document) for document in documents]


def time_of(event: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(event["eventTime"])


@pytest.fixture(scope="module")
def usual() -> list[bytes]:
    """The 30,000 events of 200 jobs that the measurements are made with."""
    return list(generate(30_000))


@pytest.fixture(scope="module")
def usual_events(usual: list[bytes]) -> list[dict[str, Any]]:
    """The same, read."""
    return events_of(usual)


def test_same_seed_same_bytes() -> None:
    """The same arguments give the same bytes; another seed gives other events."""
    first = list(generate(500, seed=7, disorder=0.2))
    assert first == list(generate(500, seed=7, disorder=0.2))
    assert not set(first) & set(generate(500, seed=8, disorder=0.2))


def test_sizes_are_those_of_the_measurements(usual: list[bytes]) -> None:
    """Mean 5.8 KB, median 5.0 KB, nine in ten under 9.8 KB, within 10 %; nothing tiny or huge."""
    sizes = sorted(map(len, usual))
    assert 5200 < sum(sizes) / len(sizes) < 6400
    assert 4500 < sizes[len(sizes) // 2] < 5500
    assert 8800 < sizes[len(sizes) * 9 // 10] < 10800
    assert sizes[0] > 1000
    assert sizes[-1] < 20_000


@pytest.mark.long
def test_mix_is_that_of_the_measurements(usual_events: list[dict[str, Any]]) -> None:
    """About 13,227 runs of 200 jobs and 3.24 datasets per event, with every way a run can end or not end."""
    events = usual_events
    assert len({event["run"]["runId"] for event in events}) == pytest.approx(13_227, rel=0.02)
    assert len({(event["job"]["namespace"], event["job"]["name"]) for event in events}) == 200
    datasets = sum(len(event["inputs"]) + len(event["outputs"]) for event in events)
    assert datasets / len(events) == pytest.approx(3.24, rel=0.05)
    types = Counter(event["eventType"] for event in events)
    assert set(types) == {"START", "RUNNING", "COMPLETE", "FAIL", "ABORT"}
    assert types["COMPLETE"] + types["FAIL"] + types["ABORT"] < types["START"]


def test_every_facet_the_digest_reads_is_there(usual_events: list[dict[str, Any]]) -> None:
    """All facets the store keeps columns for occur, at the places where producers put them."""
    found: set[str] = set()
    for event in usual_events[:6000]:
        found |= {f"run.{name}" for name in event["run"]["facets"]}
        found |= {f"job.{name}" for name in event["job"]["facets"]}
        for side in ("inputs", "outputs"):
            for dataset in event[side]:
                for place in ("facets", "inputFacets", "outputFacets"):
                    found |= {f"{side}.{place}.{name}" for name in dataset.get(place, {})}
    assert found >= {
        "run.parent", "run.nominalTime", "run.processing_engine", "run.errorMessage", "run.test",
        "run.egeria_governanceAction", "job.jobType", "job.sql", "job.sourceCodeLocation",
        "job.documentation", "job.ownership", "inputs.facets.schema", "inputs.facets.dataSource",
        "inputs.inputFacets.inputStatistics", "inputs.inputFacets.dataQualityAssertions",
        "outputs.facets.schema", "outputs.facets.columnLineage", "outputs.facets.documentation",
        "outputs.facets.ownership", "outputs.facets.version", "outputs.facets.lifecycleStateChange",
        "outputs.outputFacets.outputStatistics", "outputs.outputFacets.subset",
    }  # fmt: skip


def test_schemas_are_stable_with_rare_changes(usual_events: list[dict[str, Any]]) -> None:
    """A dataset has 20 to 41 columns and one schema, or two where it changes once."""
    schemas: dict[tuple[str, str], set[str]] = defaultdict(set)
    for event in usual_events:
        for dataset in event["inputs"] + event["outputs"]:
            if fields := dataset.get("facets", {}).get("schema", {}).get("fields"):
                schemas[dataset["namespace"], dataset["name"]].add(json.dumps(fields))
                assert 20 <= len(fields) <= 41
    versions = Counter(map(len, schemas.values()))
    assert set(versions) == {1, 2}
    assert versions[2] < versions[1] / 5


def test_events_come_in_order_and_runs_start_first(usual_events: list[dict[str, Any]]) -> None:
    """Times never go back (to the millisecond), and a run's first event is its START."""
    events = usual_events
    moments = [int(time_of(event).timestamp() * 1000) for event in events]
    assert all(before <= after for before, after in pairwise(moments))
    seen: set[str] = set()
    for event in events:
        assert (event["eventType"] == "START") == (event["run"]["runId"] not in seen)
        seen.add(event["run"]["runId"])


def test_events_lie_in_the_span() -> None:
    """The first event is not before `start`; the last is about `days` later."""
    start = datetime(2025, 3, 1, tzinfo=UTC)
    times = [time_of(event) for event in events_of(list(generate(5000, start=start, days=10, jobs=50)))]
    assert min(times) >= start
    assert 9 <= (max(times) - start).total_seconds() / 86_400 <= 11


def test_disorder_delays_without_losing() -> None:
    """With disorder the same events arrive, some of them up to 100 places late."""
    plain, late = list(generate(2000, seed=3)), list(generate(2000, seed=3, disorder=0.1))
    assert sorted(plain) == sorted(late)
    place = {event: number for number, event in enumerate(plain)}
    delays = [number - place[event] for number, event in enumerate(late)]
    assert sum(delay > 0 for delay in delays) > 100
    assert max(delays) <= 100


@pytest.mark.long
def test_heartbeats_are_running_events_of_every_run() -> None:
    """Each finished run has the asked number of RUNNING events (a Spark run at most one more)."""
    running: Counter[str] = Counter()
    ended = set()
    for event in events_of(list(generate(4000, jobs=20, heartbeats=10))):
        run = event["run"]["runId"]
        running[run] += event["eventType"] == "RUNNING"
        if event["eventType"] in {"COMPLETE", "FAIL", "ABORT"}:
            ended.add(run)
    assert {running[run] for run in ended} == {10, 11}


def test_no_two_events_are_equal() -> None:
    """Also with heartbeats closer than a second: a store that drops duplicates keeps every event."""
    documents = list(generate(20_000, jobs=40, heartbeats=50, days=0.1))
    assert len(set(documents)) == 20_000


def test_spaced_is_what_the_python_client_writes() -> None:
    """The spaced form is `json.dumps` with sorted keys of the same events as the compact UTF-8 form."""
    compact, spaced = list(generate(400)), list(generate(400, spaced=True))
    assert events_of(compact) == events_of(spaced)
    for small, wide in zip(compact, spaced, strict=True):
        event = json.loads(small)
        assert small == json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()
        assert wide == json.dumps(event, sort_keys=True).encode()
    assert any(not document.isascii() for document in compact)
    assert all(document.isascii() for document in spaced)


def test_jobs_of_a_group_share_their_parent_run() -> None:
    """Tasks that start together name one parent run; the next round names another."""
    runs = defaultdict(set)
    for event in events_of(list(generate(3000, jobs=8))):
        parent = event["run"]["facets"]["parent"]
        runs[parent["run"]["runId"]].add(event["job"]["name"])
    assert Counter(map(len, runs.values())).most_common(1)[0][0] == 4
    assert max(map(len, runs.values())) == 4


@pytest.mark.parametrize("wrong", [{"events": -1}, {"jobs": 0}, {"heartbeats": -1}, {"days": 0}, {"disorder": 1.5}])
def test_numbers_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    """A number out of range is an error at the call, not at the first event."""
    with pytest.raises(ValueError, match="must be >= 0"):
        generate(**({"events": 1} | wrong))


def test_start_needs_a_zone() -> None:
    """A start without a zone is refused: its events would depend on the machine."""
    with pytest.raises(ValueError, match="time zone"):
        generate(1, start=datetime(2026, 1, 1))  # noqa: DTZ001


def test_command_writes_ndjson(tmp_path: Path) -> None:
    """`--out` writes one event per line, compressed when the name ends with .gz; twice the same bytes."""
    plain, packed = tmp_path / "events.ndjson", tmp_path / "events.ndjson.gz"
    main(["--events", "50", "--seed", "4", "--out", str(plain)])
    main(["--events", "50", "--seed", "4", "--out", str(packed)])
    assert plain.read_bytes().splitlines() == list(generate(50, seed=4))
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    before = packed.read_bytes()
    main(["--events", "50", "--seed", "4", "--out", str(packed)])
    assert packed.read_bytes() == before


def test_command_writes_to_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Without `--out` the events go to standard output."""
    main(["--events", "5"])
    assert capfdbinary.readouterr().out.splitlines() == list(generate(5))


def test_command_names_what_is_wrong(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A bad number or path ends with status 2 and one line, no traceback."""
    for arguments in (["--events", "-5"], ["--events", "1", "--out", str(tmp_path / "none" / "x.ndjson")]):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 2
        assert "error: " in capsys.readouterr().err.splitlines()[-1]
