"""Where a history is plain, the digest and the raw events give the same."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import orjson
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lineagelog.event.parse import parse
from lineagelog.read import Window
from tests.support import EXAMPLES

from .support import WINDOW, Json, event, read, results, run_id, written

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from lineagelog.store import LogStore

COUNTS = st.none() | st.integers(0, 5) | st.integers(0, 2**40)
NAMES = st.sampled_from(["a", "b", "é"])
CHECKS = st.lists(
    st.builds(
        lambda names, column, success, severity: {**names, "column": column, "success": success, "severity": severity},
        st.sampled_from([{"assertion": "not_null"}, {"assertion": "unique", "name": "n"}, {"name": "n"}]),
        st.sampled_from(["c", None]),
        st.booleans(),
        st.sampled_from(["error", "warn", None]),
    ),
    max_size=3,
    unique_by=lambda check: (check.get("assertion", check.get("name")), check["column"]),
)
TESTS = st.lists(
    st.builds(
        lambda name, kind, status, severity: {"name": name, "type": kind, "status": status, "severity": severity},
        NAMES, st.sampled_from(["dbt", None]), st.sampled_from(["pass", "FAIL", "skip", None]), st.none() | NAMES,
    ),
    max_size=2,
    unique_by=lambda test: (test["name"], test["type"]),
)  # fmt: skip
INPUTS = st.lists(st.builds(lambda *each: read(*each[:3], checks=each[3]), NAMES, COUNTS, COUNTS, CHECKS), max_size=2)
OUTPUTS = st.lists(
    st.builds(
        lambda name, *told: written(name, *told[:2], change=told[2], subset=told[3], version=told[4]),
        NAMES, COUNTS, COUNTS, st.sampled_from(["OVERWRITE", "create", "ALTER", None]),
        st.sampled_from([{"outputCondition": {"type": "partition"}}, None]), st.sampled_from(["1", "2", None]),
    ),
    max_size=2,
)  # fmt: skip


@st.composite
def plain_histories(draw: Callable[..., Any]) -> list[Json]:
    """Runs within five days: their last event reports everything; no two events are of one millisecond."""
    found: list[Json] = []
    for each in range(draw(st.integers(0, 6))):
        starts = draw(st.sampled_from([["START"], ["START", "RUNNING"], ["RUNNING"], []]))
        ends = draw(st.sampled_from([["COMPLETE"], ["FAIL"], ["ABORT"], []] if starts else [["COMPLETE"]]))
        began = draw(st.integers(1, 60 * 24 * 5))
        gaps = draw(st.lists(st.integers(1, 5000), min_size=3, max_size=3))
        report = {
            "inputs": draw(INPUTS.map(once)),
            "outputs": draw(OUTPUTS.map(once)),
            "tests": draw(TESTS),
        }
        steps = [*starts, *ends]
        for step, kind in enumerate(steps):
            at = began + sum(gaps[:step]) / 10 + len(found) / 60_000
            more = report if step == len(steps) - 1 else {}
            found.append(event(at, kind, each, f"job{each % 2}", **more))
    return found


def once(datasets: list[Json]) -> list[Json]:
    """Each dataset once."""
    return list({entry["name"]: entry for entry in datasets}.values())


def moved(events: list[Json], days: int) -> list[Json]:
    """The same later, as other runs."""
    found = []
    for each in events:
        time = datetime.fromisoformat(each["eventTime"]) + timedelta(days=days)
        own = each["run"] | {"runId": run_id((days, each["run"]["runId"]))}
        found.append(each | {"eventTime": time.isoformat(timespec="milliseconds"), "run": own})
    return found


def in_no_order(result: Json) -> Json:
    """Of dimensions that one event reports first, the digest does not know which came first."""
    if "annotations" not in result:
        return result
    *dimensions, overall = result["annotations"]
    return result | {"annotations": [*sorted(dimensions, key=lambda each: each["qualityDimension"]), overall]}


def test_digest_and_events_agree_on_plain_histories(store: LogStore) -> None:
    """Property: all results, our own numbers too, in whatever order events arrive. Each example has its own days."""
    day = itertools.count(0, 20)

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(plain_histories(), st.randoms(use_true_random=False))
    def agree(events: list[Json], chance: random.Random) -> None:
        days = next(day)
        window = Window(WINDOW.start + timedelta(days=days), WINDOW.end + timedelta(days=days))
        own = moved(events, days)
        chance.shuffle(own)
        store.append([parse(orjson.dumps(each)) for each in own])
        for name in ("run_profile", "data_scope", "quality_summary"):
            digest, raw = (results(store, name, history, window) for history in ("digest", "events"))
            assert {key: in_no_order(each) for key, each in digest.items()} == {
                key: in_no_order(each) for key, each in raw.items()
            }, name

    agree()
