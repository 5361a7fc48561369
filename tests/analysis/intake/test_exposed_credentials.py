"""Exposed credentials: where they stand, in how many events, and never what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson
import pytest

from lineagelog.analysis.intake.exposed_credentials import secret_places
from lineagelog.event.parse import parse

from ..support import ask, dataset, day, load, run, run_id_of, window

if TYPE_CHECKING:
    from lineagelog.store import LogStore

SECRET = "hunter2-and-more"


def test_a_secret_is_told_by_job_and_place(store: LogStore) -> None:
    """One finding for all events of a job with it; the secret is in no part of the document, a name with one masked."""
    table = dataset("t")
    table["facets"]["dataSource"] = {"name": "db", "uri": f"postgres://user:{SECRET}@db/shop"}
    load(store, *(run("load", day(each), [table], [table]) for each in range(3)), run("fine", day(1), [], []))
    load(store, run(f"https://me:{SECRET}@host/job", day(1), [], []))
    found = ask(store, "exposed_credentials", window(0, 9))
    assert [(str(each.subject), each.values["place"], each.n) for each in found] == [
        ("tests/load", "inputs[].facets.dataSource.uri", 3),
        ("tests/load", "outputs[].facets.dataSource.uri", 3),
        ("tests/https://me:***@host/job", "job.name", 2),
    ]
    assert list(found[0].run_ids) == [run_id_of("load", day(each)) for each in range(3)]
    assert {each.severity for each in found} == {"critical"}
    assert SECRET.encode() not in orjson.dumps([each.document for each in found])
    assert ask(store, "exposed_credentials", window(3, 9)) == []


def test_job_and_dataset_events_are_looked_at_too(store: LogStore) -> None:
    """A dataset event has no job: its dataset is the subject."""
    facet = {"environment": {"variables": [{"name": "DB_PASSWORD", "value": SECRET}]}}
    base = {"eventTime": day(1).isoformat(), "producer": "p"}
    events = [
        {**base, "job": {"namespace": "tests", "name": "j", "facets": facet}},
        {**base, "dataset": {"namespace": "db", "name": "t", "facets": facet}},
    ]
    store.append([parse(orjson.dumps(event)) for event in events])
    found = ask(store, "exposed_credentials", window(0, 9))
    assert [(each.subject.kind, str(each.subject), each.values["place"]) for each in found] == [
        ("dataset", "db/t", "dataset.facets.environment.variables[].value"),
        ("job", "tests/j", "job.facets.environment.variables[].value"),
    ]


@pytest.mark.parametrize(
    ("tree", "places"),
    [
        ({"a": [1, None, {"b": "plain"}]}, []),
        ({"a": {"api_key": SECRET}, "b": [["x", f"token={SECRET}1A"]]}, ["a.api_key", "b[][]"]),
        ({f"postgres://u:{SECRET}@h": {"password": "x"}}, ["postgres://u:***@h.password"]),
    ],
)
def test_places(tree: object, places: list[str]) -> None:
    """Members by name, entries of lists as one; a name with a secret is masked."""
    assert secret_places(tree) == places
