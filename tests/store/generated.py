"""Hypothesis strategies for events that meet: few runs, few datasets, few instants, so that every rule is reached."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

RUNS = ("4c3b0f64-ca82-4230-8d84-07381ae938f3", "run-77", "0197b7a0-0000-7000-8000-000000000001")
TYPES = ("START", "RUNNING", "COMPLETE", "FAIL", "ABORT", "OTHER", "start", "PAUSED", None)

times = st.sampled_from([f"2026-{month}-28T23:59:{second:02}Z" for month in ("01", "02") for second in range(4)])
counts = st.sampled_from([0, 1, 2, 2**40, -1, 2**63 - 1, "7", None, 1.0])


def _object(**members: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects some of whose members are missing."""
    return st.fixed_dictionaries({}, optional=members)


statistics = _object(rowCount=counts, size=counts, fileCount=counts)
deleted = st.just({"_deleted": True})
fields = st.lists(st.sampled_from([{"name": "id", "type": "int"}, {"name": "at"}]), max_size=2)
source = st.sampled_from([{"namespace": "n", "name": "a", "field": field} for field in ("id", "at")])
sources = st.lists(source, max_size=3)
lineage = _object(fields=st.builds(lambda value: {"id": {"inputFields": value}}, sources), dataset=sources)
assertion = _object(
    assertion=st.sampled_from(["not_null", "unique"]),
    column=st.sampled_from(["id", None]),
    success=st.sampled_from([True, False, None]),
    severity=st.sampled_from(["error", "warn"]),
    expected=st.sampled_from(["0", 0, None, ""]),
    actual=st.sampled_from(["3", 3.5, None]),
    params=st.sampled_from([{"a": 1}, {"a": 2, "b": None}, {}]),
)
documentation = deleted | _object(
    description=st.sampled_from(["d", "e", ""]), contentType=st.sampled_from(["text", ""])
)
ownership = deleted | st.lists(_object(name=st.sampled_from("xy"), type=st.sampled_from("gh")), max_size=2).map(
    lambda value: {"owners": value}
)
tags = deleted | st.lists(_object(key=st.sampled_from("kl"), value=st.sampled_from("vw")), max_size=2).map(
    lambda value: {"tags": value}
)
identifier = st.fixed_dictionaries({"namespace": st.sampled_from(["db", "hive"]), "name": st.sampled_from("abc")})
facets = _object(
    documentation=documentation,
    ownership=ownership,
    tags=tags,
    catalog=deleted | _object(framework=st.sampled_from("hi"), name=st.sampled_from(["prod", 1])),
    storage=deleted | _object(storageLayer=st.sampled_from(["delta", "iceberg"])),
    symlinks=deleted | st.lists(identifier, max_size=2).map(lambda value: {"identifiers": value}),
    schema=deleted | st.builds(lambda value: {"fields": value}, fields),
    columnLineage=deleted | lineage,
    dataQualityMetrics=deleted | statistics,
    version=deleted | st.sampled_from(["v1", "v2"]).map(lambda value: {"datasetVersion": value}),
    lifecycleStateChange=deleted
    | st.sampled_from(["CREATE", "OVERWRITE"]).map(lambda v: {"lifecycleStateChange": v})
    | identifier.map(lambda v: {"lifecycleStateChange": "RENAME", "previousIdentifier": v}),
    dataQualityAssertions=st.lists(assertion, max_size=3).map(lambda value: {"assertions": value}),
)


def _dataset(own: str, statistic: str) -> st.SearchStrategy[dict[str, Any]]:
    subset = st.sampled_from([{}, {own.replace("Facets", "Condition"): {"type": "partition"}}])
    return st.fixed_dictionaries(
        {"namespace": st.sampled_from(["db", "lake"]), "name": st.sampled_from(["a", "b"])},
        optional={"facets": facets, own: _object(**{statistic: statistics, "subset": subset})},
    )


parent = st.fixed_dictionaries(
    {"run": st.just({"runId": "p"}), "job": _object(namespace=st.sampled_from("ab"), name=st.sampled_from("xy"))}
)
run_facets = _object(
    egeria_governanceAction=_object(step=st.integers(1, 2)),
    errorMessage=_object(message=st.sampled_from(["disk full", "timeout\0"])),
    **{"spark.exception": _object(message=st.sampled_from(["task failed", "disk full"]))},
    parent=parent,
    nominalTime=_object(nominalStartTime=times, nominalEndTime=times),
    test=st.lists(
        _object(name=st.sampled_from("tu"), status=st.sampled_from(["pass", "fail", "skip"]), actual=counts), max_size=3
    ).map(lambda value: {"tests": value}),
)
job = st.fixed_dictionaries(
    {"name": st.sampled_from(["load", "clean"])},
    optional={
        "namespace": st.sampled_from(["prod", "dev"]),
        "facets": _object(
            jobType=deleted | _object(processingType=st.sampled_from(["BATCH", "STREAMING", ""])),
            documentation=documentation,
            ownership=ownership,
            tags=tags,
            sourceCodeLocation=deleted | _object(url=st.sampled_from(["u", "v"]), repoUrl=st.just("r")),
        ),
    },
)
trees = st.fixed_dictionaries(
    {
        "eventTime": times,
        "run": st.fixed_dictionaries({"runId": st.sampled_from(RUNS)}, optional={"facets": run_facets}),
        "job": job,
        "inputs": st.lists(_dataset("inputFacets", "inputStatistics"), max_size=2),
        "outputs": st.lists(_dataset("outputFacets", "outputStatistics"), max_size=2),
    },
    optional={"eventType": st.sampled_from(TYPES), "producer": st.sampled_from(["airflow", "spark"])},
)
unbound = st.fixed_dictionaries(
    {"eventTime": times, "job": job},
    optional={"inputs": st.lists(_dataset("inputFacets", "inputStatistics"), max_size=1)},
) | st.fixed_dictionaries({"eventTime": times, "dataset": _dataset("inputFacets", "inputStatistics")})
events = (trees | unbound).map(lambda tree: json.dumps(tree).encode())
