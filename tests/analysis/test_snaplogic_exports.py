"""Pipelines that our exporter writes, stored: runs, lineage drift, column drift and blast radius show the tables."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import TYPE_CHECKING

import orjson
import pytest

from lineagelog.event.parse import parse
from lineagelog.export.snaplogic import VirtualNames
from lineagelog.read import Reader
from tests.export.snaplogic.support import export

from .support import ask, day, window

if TYPE_CHECKING:
    from lineagelog.store import LogStore

SAMPLES = ["join", "router", "nested", "forty", "files"]


def executions(name: str, number: int, names: VirtualNames, *, modern: bool = False, edit: tuple = ()) -> list[bytes]:
    """A sample as if it had run at ``number`` days: its run ids and times are made that day's; ``edit`` replaces."""
    bodies = []
    for event in export(name, virtual_names=names, modern=modern).events:
        text = orjson.dumps(event).decode()
        for old, new in edit:
            text = text.replace(old, new)
        moved = orjson.loads(text)
        moved["eventTime"] = (day(number) + timedelta(seconds=1)).isoformat()
        run = moved["run"]
        for holder in (run, run["facets"]["parent"]["run"]):
            holder["runId"] = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{holder['runId']} {number}"))
        bodies.append(orjson.dumps(moved))
    return bodies


def load(store: LogStore, bodies: list[bytes]) -> None:
    """Store them."""
    assert store.append([parse(body) for body in bodies]).stored == len(bodies)


@pytest.mark.parametrize("names", list(VirtualNames))
@pytest.mark.parametrize("name", SAMPLES)
def test_the_same_pipeline_day_after_day_has_no_drift(store: LogStore, name: str, names: VirtualNames) -> None:
    """In either form of names; nor where an export with today's facets and types takes over."""
    for number in range(5):
        load(store, executions(name, number, names))
    for number in range(5, 9):
        load(store, executions(name, number, names, modern=True))
    for question in ("lineage_drift", "column_lineage_drift", "schema_drift"):
        assert ask(store, question, window(4, 9)) == [], question


@pytest.mark.parametrize("names", list(VirtualNames))
def test_a_table_that_is_replaced_shows_from_table_to_table(store: LogStore, names: VirtualNames) -> None:
    """Inputs, columns and blast radius name tables only; no virtual dataset is in any finding."""
    for number in range(9):
        edit = [("shopdb.public.customers", "shopdb.public.clients"), ("country", "nation")] if number > 4 else []
        load(store, executions("join", number, names, edit=tuple(edit)))
    lineage = {(found.change, found.detail) for found in ask(store, "lineage_drift", window(5, 9))}
    assert lineage == {
        ("new input", "Postgres/shopdb.public.clients"),
        ("vanished input", "Postgres/shopdb.public.customers"),
    }
    columns = {
        (found.change, str(found.subject).split(".")[-1], found.detail.split(" by ")[0].split(".")[-1])
        for found in ask(store, "column_lineage_drift", window(5, 9))
    }
    assert columns == {
        ("new source", "orders_raw#c_id", "clients#id"),
        ("new source", "orders_raw#name", "clients#name"),
        ("new source", "orders_raw#nation", "clients#nation"),
        ("new source", "ORDERS_BY_COUNTRY#nation", "clients#nation"),
        ("lost source", "orders_raw#c_id", "customers#id"),
        ("lost source", "orders_raw#name", "customers#name"),
        ("lost source", "orders_raw#country", "customers#country"),
        ("lost source", "ORDERS_BY_COUNTRY#country", "customers#country"),
    }
    reached = ask(store, "blast_radius", window(5, 9), dataset="shopdb.public.clients", dataset_namespace="Postgres")
    assert [(found.values["depth"], found.values["job_name"], str(found.subject), found.n) for found in reached] == [
        (1, "Orders: join", "SQL Server/crm.dbo.orders_raw", 4),
        (1, "Orders: join", "Snowflake/ANALYTICS.SALES.ORDERS_BY_COUNTRY", 4),
    ]


def test_all_snaps_of_a_run_are_listed(store: LogStore) -> None:
    """The digest keeps them as they came: one run per Snap, below the pipeline's run."""
    load(store, executions("join", 1, VirtualNames.SNAPLOGIC))
    runs = list(Reader(store.database).runs(window(0, 3)))
    assert {run.status for run in runs} == {"COMPLETE"}
    assert len({run.parent_run_id for run in runs}) == 1
