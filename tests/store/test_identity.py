"""Names that are one dataset: symlinks, renames, and what the views say of them, in any order of arrival."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from lineagelog.event.canonical import name_key
from lineagelog.event.parse import parse

from .contents import empty

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lineagelog.store import LogStore

HIVE, LAKE = "hive://meta:9083", "s3://lake"


def seen(
    second: int, name: str, *, direction: str = "outputs", run: str | None = None, **facets: Any
) -> dict[str, Any]:
    """A run that reads or writes one dataset at that second; a name without a colon is the lake's."""
    namespace, _, bare = name.rpartition("|")
    return {
        "eventType": "COMPLETE",
        "eventTime": f"2026-03-01T00:{second // 60:02}:{second % 60:02}Z",
        "run": {"runId": run or f"run-{second}-{name}"},
        "job": {"namespace": "prod", "name": "load"},
        direction: [{"namespace": namespace or LAKE, "name": bare, "facets": facets}],
    }


def also(*names: str) -> dict[str, Any]:
    identifiers = [{"namespace": HIVE if "." in name else LAKE, "name": name, "type": "TABLE"} for name in names]
    return {"symlinks": {"identifiers": identifiers}}


def renamed(old: str) -> dict[str, Any]:
    previous = {"namespace": LAKE, "name": old}
    return {"lifecycleStateChange": {"lifecycleStateChange": "RENAME", "previousIdentifier": previous}}


def append(store: LogStore, events: Iterable[dict[str, Any]]) -> None:
    assert store.append([parse(json.dumps(event).encode()) for event in events]).dead == 0


def ask(store: LogStore, query: str) -> list[tuple[Any, ...]]:
    with store.engine.connect() as connection:
        connection.execute(text(f'SET search_path TO "{store.schema.schema_name}"'))
        return [tuple(row) for row in connection.execute(text(query))]


def things(store: LogStore) -> list[list[str]]:
    """The names of each dataset, the shown one first."""
    rows = ask(store, "SELECT dataset_name, names FROM v_ol_dataset ORDER BY 1")
    return [[shown, *sorted({each["name"] for each in names} - {shown})] for shown, names in rows]


def test_symlinks_join_names_transitively_and_the_most_used_is_shown(store: LogStore) -> None:
    """A location, a catalogue's name and a second catalogue's; the name of most runs stands for all of them."""
    append(
        store,
        [seen(1, "wh/a", **also("db.a")), seen(2, f"{HIVE}|db.a", **also("other.a")), seen(3, "wh/a"), seen(4, "b")],
    )
    assert things(store) == [["b"], ["wh/a", "db.a", "other.a"]]
    rows = ask(store, "SELECT DISTINCT dataset_name, shown_name FROM v_ol_execution_dataset ORDER BY 1")
    assert rows == [("b", "b"), ("db.a", "wh/a"), ("wh/a", "wh/a")]
    found = ask(store, "SELECT dataset_name, shown_name FROM v_ol_dataset_name ORDER BY 1")
    assert found == [("b", "b"), ("db.a", "wh/a"), ("other.a", "wh/a"), ("wh/a", "wh/a")]


def test_a_deleted_symlink_joins_nothing_until_it_is_said_again(store: LogStore) -> None:
    """`_deleted` takes back what was said before it; what is said later holds again."""
    append(
        store, [seen(1, "wh/a", **also("db.a")), seen(2, f"{HIVE}|db.a"), seen(3, "wh/a", symlinks={"_deleted": True})]
    )
    assert things(store) == [["db.a"], ["wh/a"]]
    append(store, [seen(4, "wh/a", **also("db.a"))])
    assert things(store) == [["wh/a", "db.a"]]


def test_a_rename_joins_the_old_name_up_to_its_time(store: LogStore) -> None:
    """What is made by the old name later is a new thing."""
    append(store, [seen(1, "old"), seen(5, "new", **renamed("old")), seen(7, "new"), seen(8, "old")])
    assert things(store) == [["new", "old"], ["old"]]
    rows = ask(store, "SELECT dataset_name, shown_name FROM v_ol_execution_dataset ORDER BY event_time")
    assert rows == [("old", "new"), ("new", "new"), ("new", "new"), ("old", "old")]


def test_two_tables_that_change_places(store: LogStore) -> None:
    """`orders` goes on as `orders_old`, and `orders_new` as `orders`, at one instant."""
    swap = seen(5, "orders_old", run="swap", **renamed("orders"))
    swap["outputs"] += seen(5, "orders", **renamed("orders_new"))["outputs"]
    append(store, [seen(1, "orders"), seen(2, "orders_new"), swap, seen(8, "orders"), seen(9, "orders_old")])
    rows = ask(store, "SELECT dataset_name, identity_key FROM v_ol_execution_dataset ORDER BY event_time, dataset_name")
    before, staged, swapped, old_at, after, archived = (key for _, key in rows)
    assert before == old_at == archived
    assert staged == swapped == after
    assert before != staged


def test_facts_are_of_the_newest_name_that_carried_them(store: LogStore) -> None:
    """A dataset's description may come by one of its names, and its owners by another."""
    append(
        store,
        [
            seen(
                1, "wh/a", **also("db.a"), documentation={"description": "first"}, ownership={"owners": [{"name": "x"}]}
            ),
            seen(2, f"{HIVE}|db.a", documentation={"description": "second"}),
        ],
    )
    rows = ask(
        store,
        "SELECT description, owners, extract(second FROM first_seen)::int, extract(second FROM last_seen)::int "
        "FROM v_ol_dataset",
    )
    assert rows == [("second", [{"name": "x"}], 1, 2)]


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("wh/t/dt=2026-01-01/hour=03", "wh/t/dt={dt}/hour={hour}"),
        ("logs/2026/01/01", "logs/{date}"),
        ("logs/2026/01/01/23/part", "logs/{date}/part"),
        ("sales_20260101", "sales_{date}"),
        ("sales_20260101T0930.csv", "sales_{date}.csv"),
        ("sales-2026-01-01.csv", "sales-{date}.csv"),
        ("sales_2026_01", "sales_{date}"),
        ("orders", "orders"),
        ("orders_v12", "orders_v12"),
        ("id_20261399", "id_20261399"),
        ("x202601011", "x202601011"),
    ],
)
def test_dates_and_partitions_in_names(store: LogStore, name: str, pattern: str) -> None:
    """Names that differ only in a date or in the value of a Hive partition have one pattern."""
    append(store, [seen(1, name)])
    assert ask(store, "SELECT pattern FROM v_ol_dataset_name") == [(pattern,)]


# --- a second implementation: lives by walking through time, sets by merging until nothing changes --------------------


def key_of(name: str) -> bytes:
    """Of several renames at one instant that to the name of the least key holds."""
    return name_key(LAKE, name)


def naive(events: list[dict[str, Any]]) -> set[frozenset[tuple[str, int]]]:
    """The sightings (name, second) of each dataset."""
    sightings, links, renames, gone = [], [], [], {}
    for event in events:
        second = int(event["eventTime"][14:16]) * 60 + int(event["eventTime"][17:19])
        for dataset in event["outputs"]:
            name, facets = dataset["name"], dataset["facets"]
            change = facets.get("lifecycleStateChange", {})
            sightings.append((name, second, "previousIdentifier" in change))
            symlinks = facets.get("symlinks", {})
            if symlinks.get("_deleted"):
                gone[name] = max(gone.get(name, 0), second)
            links += [(name, each["name"], second) for each in symlinks.get("identifiers", ()) if each["name"] != name]
            if "previousIdentifier" in change and change["previousIdentifier"]["name"] != name:
                renames.append((change["previousIdentifier"]["name"], second, name))

    def life(name: str, at: int, *, after: bool = False) -> str:
        """The name that the name of that time has in the end."""
        while ahead := sorted(
            each for each in renames if each[0] == name and (each[1] > at or (each[1] == at and not after))
        ):
            first = min(each[1] for each in ahead)
            name, at, after = min((each[2] for each in ahead if each[1] == first), key=key_of), first, True
        return name

    groups = [{life(name, at, after=moved)} for name, at, moved in sightings]
    groups += [{life(one, at), life(other, at)} for one, other, at in links if at >= gone.get(one, 0)]
    changed = True
    while changed:
        changed = False
        for one in groups:
            for other in groups:
                if one is not other and one & other and one != other:
                    one |= other
                    other |= one
                    changed = True
    of = {name: frozenset(group) for group in groups for name in group}
    found: dict[frozenset[str], set[tuple[str, int]]] = {}
    for name, at, moved in sightings:
        found.setdefault(of[life(name, at, after=moved)], set()).add((name, at))
    return {frozenset(each) for each in found.values()}


names = st.sampled_from(["a", "b", "c", "d", "e"])
said = st.one_of(
    st.just({}),
    names.map(also),
    st.just({"symlinks": {"_deleted": True}}),
    names.map(renamed),
)


@given(st.lists(st.tuples(st.integers(0, 9), names, said), min_size=1, max_size=9), st.integers(0, 2**32))
def test_identity_is_that_of_a_second_implementation(
    store: LogStore, drawn: list[tuple[int, str, dict[str, Any]]], seed: int
) -> None:
    """Histories of few names and instants, delivered in any order and in batches, against sets merged by hand.

    Each link and each rename is said once: of more the store keeps the first and the last time.
    """
    empty(store)
    kept: dict[Any, dict[str, Any]] = {}
    for number, (second, name, facets) in enumerate(drawn):
        links = json.dumps(facets) if facets else number
        kept[name, links] = seen(second, name, run=f"run-{number}", **facets)
    delivered = list(kept.values())
    random.Random(seed).shuffle(delivered)
    for start in range(0, len(delivered), 3):
        append(store, delivered[start : start + 3])
    rows = ask(
        store, "SELECT identity_key, dataset_name, extract(second FROM event_time)::int FROM v_ol_execution_dataset"
    )
    found: dict[Any, set[tuple[str, int]]] = {}
    for key, name, second in rows:
        found.setdefault(key, set()).add((name, second))
    assert {frozenset(each) for each in found.values()} == naive(delivered)
