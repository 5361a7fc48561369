"""Facts from facets: where they are looked up, which one wins, and what is passed over with a notice."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from lineagelog.event.model import AssertionResult, DatasetSighting, RunSighting, TestResult
from lineagelog.event.sightings import MAX_NOTICES

from .event_samples import accepted, notices, run_event, with_input, with_output

LONG_MAX = 2**63 - 1
ODD = [None, 5, 1.5, True, "text", [], [1], {}, {"a": {"b": []}}]


def sighting(event: dict[str, Any]) -> DatasetSighting:
    """The only dataset of the event."""
    (only,) = accepted(event).datasets
    return only


def run_of(event: dict[str, Any]) -> RunSighting:
    """What the event says of its run."""
    run = accepted(event).run
    assert run is not None
    return run


def with_run_facets(**facets: Any) -> dict[str, Any]:
    """An event with these run facets."""
    return run_event(run={"runId": "r", "facets": facets})


@pytest.mark.parametrize(
    ("container", "facet", "member", "rows"),
    [
        ("outputFacets", "outputStatistics", "rowCount", "row_count"),
        ("facets", "outputStatistics", "rowCount", "row_count"),
        ("outputFacets", "outputStatistics", "size", "size_bytes"),
        ("outputFacets", "outputStatistics", "fileCount", "file_count"),
        ("facets", "inputStatistics", "rowCount", "row_count"),
        ("facets", "dataQualityMetrics", "rowCount", "row_count"),
        ("facets", "dataQualityMetrics", "bytes", "size_bytes"),
        ("facets", "dataQualityMetrics", "fileCount", "file_count"),
        ("facets", "dataQuality", "rowCount", "row_count"),
        ("facets", "dataQuality", "bytes", "size_bytes"),
        ("facets", "stats", "rowCount", "row_count"),
        ("facets", "stats", "size", "size_bytes"),
    ],
)
def test_statistics_are_found_where_producers_put_them(container: str, facet: str, member: str, rows: str) -> None:
    """Own and common containers, present and older names."""
    assert getattr(sighting(with_output(**{container: {facet: {member: 4100}}})), rows) == 4100


def test_input_facets_count_for_inputs_and_output_facets_for_outputs() -> None:
    """The other side's container says nothing."""
    facets = {
        "inputFacets": {"inputStatistics": {"rowCount": 1}},
        "outputFacets": {"outputStatistics": {"rowCount": 2}},
    }
    assert sighting(with_input(**facets)).row_count == 1
    assert sighting(with_output(**facets)).row_count == 2


def test_of_several_statistics_the_first_of_the_table_wins_wherever_it_stands() -> None:
    """Statistics before quality metrics before old names; then the own container before the common one."""
    facets = {
        "outputFacets": {"stats": {"rowCount": 1, "size": 10}, "dataQualityMetrics": {"rowCount": 2}},
        "facets": {"outputStatistics": {"rowCount": 3}, "stats": {"rowCount": 5}},
    }
    assert sighting(with_output(**facets)) == DatasetSighting("O", "db", "orders", row_count=3, size_bytes=10)
    reversed_order = {name: dict(reversed(inner.items())) for name, inner in reversed(facets.items())}
    assert sighting(with_output(**reversed_order)) == sighting(with_output(**facets))


def test_the_same_facet_in_two_containers_is_read_member_by_member() -> None:
    """The own container first; what it does not carry, or not readably, may stand in the other."""
    found = sighting(
        with_output(
            outputFacets={"outputStatistics": {"rowCount": 1, "size": None, "fileCount": -1}},
            facets={"outputStatistics": {"rowCount": 2, "size": 3, "fileCount": 4}},
        )
    )
    assert (found.row_count, found.size_bytes, found.file_count) == (1, 3, 4)


@pytest.mark.parametrize(
    ("sent", "count"),
    [
        (0, 0),
        (3263939118, 3263939118),
        (LONG_MAX - 1, LONG_MAX - 1),
        (4.0, 4),
        (1.5e3, 1500),
        ("812", 812),
        (" 812 ", 812),
        ("0" * 20 + "7", 7),
        (LONG_MAX, None),
        (str(LONG_MAX), None),
        (LONG_MAX + 1, None),
        (2**64, None),
        (1e30, None),
        (-1, None),
        (1.5, None),
        ("n/a", None),
        ("", None),
        ("-1", None),
        ("1" * 30, None),
        ("\u0661\u0662", None),
        ("\u00b2", None),
        (True, None),
        ([5], None),
        ({"value": 5}, None),
    ],
)
def test_a_count_is_a_number_or_unknown(sent: Any, count: int | None) -> None:
    """Numeric texts count; Long.MAX_VALUE, negative, fractional and other things are noticed and never 0."""
    event = accepted(with_output(outputFacets={"outputStatistics": {"rowCount": sent, "size": 7}}))
    assert (event.datasets[0].row_count, event.datasets[0].size_bytes) == (count, 7)
    place = "$.outputs[0].outputFacets.outputStatistics.rowCount"
    assert notices(event) == ([] if count is not None else [f"not_a_count at {place}"])


def test_a_null_or_missing_count_is_not_carried() -> None:
    """Nothing, not 0, and nothing to notice."""
    for facet in (None, {}, {"rowCount": None}):
        event = accepted(with_output(outputFacets={"outputStatistics": facet}))
        assert (event.datasets[0].row_count, event.notices) == (None, ())


@pytest.mark.parametrize(
    ("facets", "member", "value"),
    [
        ({"lifecycleStateChange": {"lifecycleStateChange": "TRUNCATE"}}, "lifecycle_state_change", "TRUNCATE"),
        ({"version": {"datasetVersion": "v7"}}, "dataset_version", "v7"),
        ({"version": {"datasetVersion": 7}}, "dataset_version", "7"),
        ({"version": {"datasetVersion": 7.0}}, "dataset_version", "7"),
        ({"version": {"datasetVersion": ["v7"]}}, "dataset_version", None),
        ({"datasetVersion": {"datasetVersion": "v7"}}, "dataset_version", None),
        ({"subset": {"inputCondition": {"type": "partition"}}}, "subset_type", "partition"),
        ({"subset": {"outputCondition": {"type": "compare"}}}, "subset_type", "compare"),
        ({"subset": {"outputCondition": {}}}, "subset_type", ""),
        ({"subset": {"outputCondition": {"type": 5}}}, "subset_type", ""),
        ({"subset": {"outputCondition": None}}, "subset_type", None),
        ({"subset": {"outputCondition": "all"}}, "subset_type", None),
        ({"schema": {"fields": [{"type": "INT", "name": "a"}]}}, "schema", b'[{"name":"a","type":"INT"}]'),
        ({"schema": {"fields": []}}, "schema", None),
        ({"schema": {"fields": None}}, "schema", None),
        ({"schema": {"fields": {"a": "INT"}}}, "schema", None),
        ({"columnLineage": {"_producer": "p", "fields": {"a": 1}}}, "lineage", b'{"fields":{"a":1}}'),
        ({"columnLineage": {"dataset": [1], "fields": {}}}, "lineage", b'{"dataset":[1]}'),
        ({"columnLineage": {"fields": {}}}, "lineage", None),
    ],
)
def test_dataset_facets(facets: dict[str, Any], member: str, value: Any) -> None:
    """Lifecycle, version, subset, schema and column lineage, whole, partial and odd."""
    assert getattr(sighting(with_output(facets=facets)), member) == value
    assert getattr(sighting(with_output(outputFacets=facets)), member) == value


def test_deletion_clears_what_the_facet_gives() -> None:
    """`_deleted` is a tombstone on every facet of a dataset or job, whatever else it holds; elsewhere it is no word."""
    gone = {"_deleted": True, "fields": [{"name": "a"}], "rowCount": 5, "lifecycleStateChange": "DROP"}
    of_datasets = {"lifecycleStateChange": "lifecycle_state_change", "version": "dataset_version", "schema": "schema"}
    of_datasets |= {"columnLineage": "lineage"}
    for container in ("facets", "outputFacets"):
        found = sighting(with_output(**{container: dict.fromkeys(of_datasets, gone)}))
        assert found == DatasetSighting("O", "db", "orders", deleted=frozenset(of_datasets.values()))
    assert sighting(with_output(facets={"dataQualityMetrics": gone})).deleted == {
        "row_count",
        "size_bytes",
        "file_count",
    }
    assert sighting(with_output(outputFacets={"outputStatistics": gone})).row_count == 5
    listed = {"dataQualityAssertions": {"_deleted": True, "assertions": [{"assertion": "a"}]}}
    assert accepted(with_output(facets=listed)).assertions == ()
    assert len(accepted(with_output(outputFacets=listed)).assertions) == 1
    assert run_of(run_event(job={"name": "j", "facets": {"jobType": gone}})).deleted == {"processing"}
    assert run_of(with_run_facets(errorMessage={"_deleted": True, "message": "m"})).error_message == "m"
    assert sighting(with_output(facets={"version": {"_deleted": "true"}})).deleted == frozenset()
    assert sighting(with_output(facets={"version": {"_deleted": False, "datasetVersion": "1"}})).dataset_version == "1"


@pytest.mark.parametrize("value_first", [True, False])
def test_a_value_beats_a_deletion_in_the_same_event(value_first: bool) -> None:
    """In another container or in another entry of the same dataset, before or after it."""
    value, gone = {"version": {"datasetVersion": "v1"}}, {"version": {"_deleted": True, "datasetVersion": "v0"}}
    one, other = (value, gone) if value_first else (gone, value)
    names = {"namespace": "db", "name": "orders"}
    expected = DatasetSighting("O", "db", "orders", dataset_version="v1")
    assert sighting(with_output(outputFacets=one, facets=other)) == expected
    assert sighting(run_event(outputs=[names | {"facets": one}, names | {"facets": other}])) == expected


def test_one_dataset_twice_on_one_side_keeps_what_either_carries() -> None:
    """A self join: each member from the last entry that carries it, deletions joined, one sighting."""
    names = {"namespace": "db", "name": "orders"}
    gone = {"_deleted": True}
    found = sighting(
        run_event(
            inputs=[
                names | {"inputFacets": {"inputStatistics": {"rowCount": 1, "size": 2}}, "facets": {"version": gone}},
                names | {"inputFacets": {"inputStatistics": {"rowCount": 3}}},
                names | {"facets": {"lifecycleStateChange": gone}},
            ]
        )
    )  # fmt: skip
    assert (found.row_count, found.size_bytes) == (3, 2)
    assert found.deleted == {"dataset_version", "lifecycle_state_change"}


def test_the_same_dataset_on_both_sides_is_two_sightings() -> None:
    """And a dataset without a namespace is its own dataset."""
    event = accepted(
        run_event(
            inputs=[{"namespace": "db", "name": "t"}, {"name": "t"}, {"namespace": None, "name": "u"}],
            outputs=[{"namespace": "db", "name": "t"}],
        )
    )
    keys = [(d.direction, d.namespace, d.name) for d in event.datasets]
    assert keys == [("I", "db", "t"), ("I", "", "t"), ("I", "", "u"), ("O", "db", "t")]


@pytest.mark.parametrize(
    ("entry", "notice"),
    [
        (None, "not_an_object at $.inputs[1]"),
        ("db.t", "not_an_object at $.inputs[1]"),
        ({}, "dataset_without_name at $.inputs[1].name"),
        ({"namespace": "db", "name": ""}, "dataset_without_name at $.inputs[1].name"),
        ({"namespace": "db", "name": 5}, "dataset_without_name at $.inputs[1].name"),
        ({"namespace": "", "name": "orphan"}, "dataset_without_namespace at $.inputs[1].namespace"),
        ({"namespace": 5, "name": "orphan"}, "dataset_without_namespace at $.inputs[1].namespace"),
        ({"namespace": "db", "name": "t", "facets": 5}, "not_an_object at $.inputs[1].facets"),
        ({"namespace": "db", "name": "t", "facets": []}, "not_an_object at $.inputs[1].facets"),
        ({"namespace": "db", "name": "t", "facets": ""}, "not_an_object at $.inputs[1].facets"),
        ({"namespace": "db", "name": "t", "inputFacets": "x"}, "not_an_object at $.inputs[1].inputFacets"),
        ({"namespace": "db", "name": "t", "facets": {"schema": 5}}, "not_an_object at $.inputs[1].facets.schema"),
        (
            {"namespace": "db", "name": "t", "facets": {"schema": {"fields": 5}}},
            "not_an_array at $.inputs[1].facets.schema.fields",
        ),
    ],
)
def test_one_bad_entry_or_facet_is_passed_over_with_a_notice(entry: Any, notice: str) -> None:
    """The event and its other datasets stay."""
    event = accepted(
        run_event(inputs=[{"namespace": "db", "name": "first"}, entry, {"namespace": "db", "name": "last"}])
    )
    assert notices(event) == [notice]
    assert {"first", "last"} <= {dataset.name for dataset in event.datasets}


@pytest.mark.parametrize("side", ["inputs", "outputs"])
@pytest.mark.parametrize("value", [5, "x", {}, {"namespace": "db", "name": "t"}, False])
def test_a_side_that_is_no_array_is_noticed(side: str, value: Any) -> None:
    """Null and missing are nothing to speak of."""
    event = accepted(run_event(**{side: value}))
    assert (event.datasets, notices(event)) == ((), [f"not_an_array at $.{side}"])
    assert accepted(run_event(**{side: None})).notices == ()


def test_no_more_notices_than_tell_something() -> None:
    """A list of a thousand bad entries gives fifty notices."""
    assert len(accepted(run_event(inputs=[5] * 1000)).notices) == MAX_NOTICES


def test_run_and_job_facets() -> None:
    """Governance action, error, parent with root, nominal times, job type."""
    action = {"requestType": "survey", "_producer": "p"}
    run = run_of(
        run_event(
            run={
                "runId": "r",
                "facets": {
                    "egeria_governanceAction": action,
                    "errorMessage": {"message": "boom", "programmingLanguage": "PYTHON"},
                    "parent": {
                        "job": {"namespace": "ns", "name": "dag"},
                        "run": {"runId": "p1"},
                        "root": {"job": {"namespace": "rn", "name": "rj"}, "run": {"runId": "p0"}},
                    },
                    "nominalTime": {"nominalStartTime": "2026-03-02T09:00:00+01:00", "nominalEndTime": "soon"},
                },
            },
            job={
                "name": "j",
                "facets": {"jobType": {"processingType": "BATCH", "integration": "SPARK", "jobType": 5}},
            },
        )
    )
    assert run == RunSighting(
        "COMPLETE",
        governance_action=b'{"_producer":"p","requestType":"survey"}',
        error_message="boom",
        processing=("BATCH", "SPARK", None),
        parent=("ns", "dag", "p1", "rn", "rj", "p0"),
        nominal=(datetime(2026, 3, 2, 8, tzinfo=UTC), None),
    )


@pytest.mark.parametrize(
    ("value", "time", "notice"),
    [
        ("2026-05-20T04:00:00Z", datetime(2026, 5, 20, 4, tzinfo=UTC), None),
        (" 2026-05-20t04:00:00.1234567+02:00[Europe/Berlin]", datetime(2026, 5, 20, 2, 0, 0, 123456, UTC), None),
        ("2026-05-20T04:00:00", datetime(2026, 5, 20, 4, tzinfo=UTC), "time_without_zone"),
        ("2026-05-20", datetime(2026, 5, 20, tzinfo=UTC), "date_without_time"),
        ("2026-02-30", None, "not_a_time"),
        ("soon", None, "not_a_time"),
        ("", None, "not_a_time"),
        (1779249600, None, "not_a_text"),
        (None, None, None),
    ],
)
@pytest.mark.parametrize("member", ["nominalStartTime", "nominalEndTime"])
def test_nominal_times_go_by_the_rules_of_event_times(
    member: str, value: Any, time: datetime | None, notice: str | None
) -> None:
    """What has no zone, is a date only or cannot be read is told with its place, and takes the other with it never."""
    other = "nominalEndTime" if member == "nominalStartTime" else "nominalStartTime"
    end = datetime(2026, 5, 21, tzinfo=UTC)
    for facet, beside in (({member: value}, None), ({member: value, other: "2026-05-21T00:00:00Z"}, end)):
        event = accepted(with_run_facets(nominalTime=facet))
        found = (time, beside) if member == "nominalStartTime" else (beside, time)
        assert event.run is not None
        assert event.run.nominal == (None if found == (None, None) else found)
        assert notices(event) == ([f"{notice} at $.run.facets.nominalTime.{member}"] if notice else [])


@pytest.mark.parametrize(
    ("facet", "parent"),
    [
        ({"run": {"runId": "p1"}}, (None, None, "p1", None, None, None)),
        ({"job": {"name": "dag"}, "run": None}, (None, "dag", None, None, None, None)),
        ({"job": "dag", "run": "p1"}, None),
        ({"root": {"run": {"runId": "p0"}}}, (None, None, None, None, None, "p0")),
        ({"root": 5, "job": [], "run": {"runId": 7}}, None),
        ({}, None),
    ],
)
def test_a_partial_parent_is_kept_as_far_as_it_goes(facet: dict[str, Any], parent: Any) -> None:
    """Members that are missing or no text are None; a parent that says nothing is none; the old name works."""
    assert run_of(with_run_facets(parent=facet)).parent == parent
    assert run_of(with_run_facets(parentRun=facet)).parent == parent


def test_the_present_name_of_the_parent_facet_wins() -> None:
    """In either order; unless it says nothing."""
    new, old = {"run": {"runId": "new"}}, {"run": {"runId": "old"}}
    for facets in ({"parent": new, "parentRun": old}, {"parentRun": old, "parent": new}):
        parent = run_of(with_run_facets(**facets)).parent
        assert parent is not None
        assert parent[2] == "new"
    assert run_of(with_run_facets(parent={}, parentRun=old)).parent is not None


def test_additional_properties_is_no_facet() -> None:
    """The way Java beans write their extension map says nothing, at any level."""
    event = run_event(run={"runId": "r", "additionalProperties": {}, "facets": {"additionalProperties": {"a": {}}}})
    assert run_of(event) == RunSighting("COMPLETE")


def test_assertions_of_inputs_and_outputs_in_either_container() -> None:
    """A missing success is None, not false; one without assertion and name is passed over."""
    entries = [
        {"assertion": "not_null", "column": "id", "success": False, "severity": "error"},
        {"assertion": "unique", "success": None},
        {"name": "only_a_name", "success": "True"},
        {"success": True},
        {"assertion": 5, "success": 1},
        "text",
    ]
    facet = {"dataQualityAssertions": {"assertions": entries}}
    event = accepted(
        with_input(facets=facet) | with_output(outputFacets=facet) | {"inputs": with_input(facets=facet)["inputs"]}
    )
    rows = [
        AssertionResult("db", "orders", "not_null", "id", False, "error", None, 0),
        AssertionResult("db", "orders", "unique", None, None, None, None, 0),
        AssertionResult("db", "orders", None, None, True, None, "only_a_name", 0),
    ]
    again = [replace(row, occurrence=1, position=1, side="output") for row in rows]
    assert list(event.assertions) == rows + again
    places = ["$.inputs[0].facets", "$.outputs[0].outputFacets"]
    assert notices(event) == [
        f"{code} at {place}.dataQualityAssertions.assertions[{index}]"
        for place in places
        for code, index in (("assertion_without_name", 3), ("assertion_without_name", 4), ("not_an_object", 5))
    ]


def test_assertions_of_one_entry_come_from_the_first_container_that_lists_some() -> None:
    """The same facet repeated in `facets` does not double them; an empty shell does not hide them."""
    own = {"dataQualityAssertions": {"assertions": [{"assertion": "a"}]}}
    common = {"dataQualityAssertions": {"assertions": [{"assertion": "b"}]}}
    assert [a.assertion for a in accepted(with_input(inputFacets=own, facets=common)).assertions] == ["a"]
    for shell in (None, 5, {}, {"dataQualityAssertions": None}, {"dataQualityAssertions": {"assertions": None}}):
        assert [a.assertion for a in accepted(with_input(inputFacets=shell, facets=common)).assertions] == ["b"]


def test_tests_of_the_run_are_counted_by_position() -> None:
    """Equal entries are told apart by their occurrence; one without name and type is passed over."""
    tests = [{"name": "totals", "status": "fail", "severity": "error"}, {"name": "totals", "status": "pass"}]
    tests += [{"name": "totals", "status": "pass"}, {"type": "schema", "status": 5}, {"status": "skip"}, None]
    event = accepted(with_run_facets(test={"tests": tests}))
    assert event.tests == (
        TestResult("totals", "fail", None, "error", 0),
        TestResult("totals", "pass", None, None, 0, position=1),
        TestResult("totals", "pass", None, None, 1, position=2),
        TestResult(None, None, "schema", None, 0),
    )
    assert notices(event) == [
        "test_without_name at $.run.facets.test.tests[4]",
        "not_an_object at $.run.facets.test.tests[5]",
    ]


FACETS = [
    "outputStatistics", "dataQualityMetrics", "stats", "lifecycleStateChange", "version", "subset", "schema",
    "columnLineage", "dataQualityAssertions", "egeria_governanceAction", "errorMessage", "parent", "nominalTime",
    "jobType", "test",
]  # fmt: skip
MEMBERS = [
    "rowCount", "size", "bytes", "fileCount", "lifecycleStateChange", "datasetVersion", "inputCondition", "fields",
    "dataset", "assertions", "message", "job", "run", "root", "nominalStartTime", "processingType", "tests",
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=json.dumps)
def test_any_type_anywhere_loses_at_most_its_own_fact(odd: Any) -> None:
    """Every facet, every member and every container as null, number, text, list and object."""
    for facet in (
        odd,
        dict.fromkeys(MEMBERS, odd),
        {member: [odd] for member in MEMBERS},
        {member: {"run": odd} for member in MEMBERS},
    ):
        facets = dict.fromkeys(FACETS, facet)
        event = run_event(
            run={"runId": "r", "facets": facets},
            job={"name": "j", "facets": facets},
            inputs=[{"name": "t", "facets": facets, "inputFacets": odd}, odd],
            outputs=[{"name": "t", "outputFacets": facets, "facets": odd}, odd],
        )
        assert len(accepted(event).datasets) == 2
    run, job = {"runId": "r", "facets": odd}, {"name": "j", "facets": odd}
    assert accepted(run_event(run=run, job=job, inputs=odd, outputs=odd))


@pytest.mark.parametrize(
    ("inputs", "outputs", "taken"),
    [(4, 0, (4, 0)), (5, 0, (4, 0)), (0, 9, (0, 4)), (9, 1, (3, 1)), (9, 9, (2, 2)), (1, 9, (1, 3)), (3, 2, (2, 2))],
)
def test_entries_beyond_the_limit(
    monkeypatch: pytest.MonkeyPatch, inputs: int, outputs: int, taken: tuple[int, int]
) -> None:
    """The first ones reach the digest; what one side leaves of its half the other has; a notice names the place."""
    monkeypatch.setattr("lineagelog.event.sightings.MAX_DATASETS", 4)
    sides = [[{"namespace": "n", "name": f"d{n}"} for n in range(count)] for count in (inputs, outputs)]
    event = accepted(run_event(inputs=sides[0], outputs=sides[1]))
    names = [[each.name for each in event.datasets if each.direction == side] for side in "IO"]
    assert names == [[f"d{n}" for n in range(count)] for count in taken]
    cut = [
        (side, count)
        for side, count, all_ in zip(("inputs", "outputs"), taken, (inputs, outputs), strict=True)
        if count < all_
    ]
    assert notices(event) == [f"too_many_datasets at $.{side}[{count}]" for side, count in cut]


def test_results_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Assertions of all datasets together, and tests: each is a row of the digest."""
    monkeypatch.setattr("lineagelog.event.sightings.MAX_RESULTS", 3)
    facet = {"dataQualityAssertions": {"assertions": [{"assertion": f"a{n}"} for n in range(2)]}}
    entries = [{"namespace": "n", "name": f"d{n}", "inputFacets": facet} for n in range(3)]
    tests = {"test": {"tests": [{"name": f"t{n}"} for n in range(4)]}}
    event = accepted(run_event(inputs=entries, run={"runId": "r", "facets": tests}))
    assert [each.assertion for each in event.assertions] == ["a0", "a1", "a0"]
    assert [each.test_name for each in event.tests] == ["t0", "t1", "t2"]
    assert [notice.split(" ")[0] for notice in notices(event)] == ["too_many_tests"] + ["too_many_assertions"] * 2


@pytest.mark.parametrize(
    ("event_type", "told", "skipped"),
    [
        ("ABORT", {"actual": "0", "expected": "0"}, True),  # dbt-ol, reading dbt's log
        ("ABORT", {}, True),
        ("ABORT", {"actual": "3", "expected": "0"}, False),  # it failed, and then the run was aborted
        ("FAIL", {"actual": "0", "expected": "0"}, False),
        ("FAIL", {}, False),  # dbt-ol, reading dbt's results: skipped, or it could not be run
    ],
)
def test_a_skipped_check_is_told_apart_where_the_event_allows_it(
    event_type: str, told: dict[str, str], skipped: bool
) -> None:
    """dbt says of a test that it skipped that it failed, in an ABORT."""
    assertion = {"assertion": "not_null", "success": False, **told}
    test = {"name": "not_null", "status": "fail", **told}
    event = accepted(
        run_event(
            eventType=event_type,
            run={"runId": "r", "facets": {"test": {"tests": [test]}}},
            inputs=[{"namespace": "n", "name": "d", "facets": {"dataQualityAssertions": {"assertions": [assertion]}}}],
        )
    )
    assert [each.skipped for each in (*event.assertions, *event.tests)] == [skipped, skipped]
