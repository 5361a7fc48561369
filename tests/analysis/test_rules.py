"""Settings for single jobs and datasets: patterns, which of several wins, and what is wrong in them."""

from __future__ import annotations

from datetime import time
from typing import TYPE_CHECKING, Any

import pytest

from lineagelog.analysis import NO_RULES, Subject, SubjectRule, analysis_named, read_rules
from lineagelog.analysis.rules import NO_RULE
from lineagelog.errors import SettingsError
from lineagelog.read.analyses import Terms, ask
from lineagelog.settings import load_settings

from .support import dataset, day, load, run, window

if TYPE_CHECKING:
    from pathlib import Path

    from lineagelog.store import LogStore

LOAD, TABLE = Subject("job", "tests", "load"), Subject("dataset", "db", "shop.orders")


def test_a_later_rule_wins_and_others_stay() -> None:
    """Key by key; a rule of some analyses holds for those."""
    rules = read_rules(
        [
            {"job": "tests/*", "threshold": 4, "least_change": 0.2},
            {"job": "*/load", "analyses": ["late_run"], "threshold": 5.5},
            {"dataset": "db/shop.?rders", "ignore": True},
        ]
    )
    assert rules.of_analysis("late_run").of(LOAD) == SubjectRule(threshold=5.5, least_change=0.2)
    assert rules.of_analysis("duration_anomaly").of(LOAD) == SubjectRule(threshold=4.0, least_change=0.2)
    assert rules.of(TABLE).ignore
    assert rules.of(Subject("column", "db", "shop.orders", "id")).ignore
    assert rules.of(Subject("job", "db", "shop.orders")) is NO_RULE
    assert not NO_RULES
    assert NO_RULES.of(LOAD) is NO_RULE


def test_rules_come_from_the_settings_file(tmp_path: Path) -> None:
    """As TOML spells times."""
    file = tmp_path / "lineagelog.toml"
    file.write_text('[[analyse.rules]]\njob = "*"\ndue = 06:30:00\ntime_zone = "Europe/Berlin"\ntarget = 0.99\n')
    rule = read_rules(load_settings(file).analyse.rules).of(LOAD)
    assert (rule.due, rule.zone.key, rule.target) == (time(6, 30), "Europe/Berlin", 0.99)


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"job": "a", "treshold": 3}, "rule 2 of analyse.rules: .*treshold"),
        ({"job": "a", "threshold": 0}, "rule 2 .*threshold"),
        ({"job": "a", "direction": "left"}, "rule 2 .*direction"),
        ({"job": "a", "target": 1.5}, "rule 2 .*target"),
        ({"threshold": 3}, "rule 2 .* 'job' and 'dataset'"),
        ({"job": "a", "dataset": "b"}, "rule 2 .* 'job' and 'dataset'"),
        ({"job": "a", "time_zone": "Mars/Phobos"}, "no time zone 'Mars/Phobos'"),
        ({"job": "a", "time_zone": "../../etc/passwd"}, "no time zone"),
    ],
)
def test_what_is_wrong_is_named(section: dict[str, Any], message: str) -> None:
    """By the rule's number and its key."""
    with pytest.raises(SettingsError, match=message):
        read_rules([{"job": "fine"}, section])


def test_what_is_to_be_ignored_is_not_told(store: LogStore) -> None:
    """By any analysis."""
    for each in range(10):
        load(store, run("load", day(each), [dataset("a" if each < 5 else "b")], []))
    drift, period = analysis_named("lineage_drift"), window(5, 10)
    assert len(ask(store.database, drift, period).findings) == 2
    rules = read_rules([{"job": "tests/lo*", "ignore": True}])
    assert ask(store.database, drift, period, terms=Terms(rules)).findings == ()
    assert len(ask(store.database, drift, period, terms=Terms(rules.of_analysis("x"))).findings) == 0
    others = read_rules([{"job": "tests/lo*", "ignore": True, "analyses": ["schema_drift"]}])
    assert len(ask(store.database, drift, period, terms=Terms(others)).findings) == 2
