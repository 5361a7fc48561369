"""How well planted effects are found: `python -m tests.analysis.accuracy` writes the table of docs/accuracy.md.

For each analysis: histories of several seeds, clean and with effects from 4 robust standard deviations on, a window of
the last two weeks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from lineagelog.analysis import analysis_named
from lineagelog.read import Window
from lineagelog.read.analyses import ask
from tests.support import ROOT

from .planted import END, Accuracy, History, accuracy, clean, fill, plant

if TYPE_CHECKING:
    from lineagelog.store import Database

PAGE = ROOT / "docs" / "accuracy.md"
SEEDS = (1, 2, 3)
WINDOW_DAYS = 14.0
ANALYSES = ("late_run", "stale_dataset", "duration_anomaly", "volume_anomaly")
_MARKED = re.compile(r"(?<=<!-- accuracy -->\n).*?(?=<!-- end -->)", re.DOTALL)


@dataclass
class Tally:
    """Of one analysis over several histories."""

    by_kind: dict[str, Accuracy] = field(default_factory=dict)
    whole: Accuracy = field(default_factory=lambda: Accuracy(0, 0, 0, 0))
    alarms: int = 0
    """Findings in clean histories."""


def _added(one: Accuracy | None, other: Accuracy) -> Accuracy:
    if one is None:
        return other
    return Accuracy(
        one.planted + other.planted, one.found + other.found, one.findings + other.findings, one.right + other.right
    )


def look(database: Database, history: History, tallies: Mapping[str, Tally]) -> None:
    """Fill an empty store with a history, ask the analyses, and count."""
    fill(database, history)
    period = Window(END - timedelta(days=WINDOW_DAYS), END)
    for name, tally in tallies.items():
        findings = list(ask(database, analysis_named(name), period).findings)
        effects = [effect for effect in history.effects if effect.analysis == name]
        if not history.effects:
            tally.alarms += len(findings)
            continue
        tally.whole = _added(tally.whole, accuracy(effects, findings))
        for kind in dict.fromkeys(effect.kind for effect in effects):
            tally.by_kind[kind] = _added(tally.by_kind.get(kind), accuracy(effects, findings, kind))


def histories(seeds: tuple[int, ...] = SEEDS, jobs: int = 200, times: int = 10) -> list[History]:
    """A clean one and one with effects for each seed."""
    made = []
    for seed in seeds:
        history = clean(seed, jobs)
        made += [history, plant(history, seed, WINDOW_DAYS, times)]
    return made


def table(tallies: Mapping[str, Tally], count: int) -> str:
    """For the page."""
    lines = [
        f"| analysis | planted | found | recall | findings | precision | in {count} clean histories |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for name, tally in tallies.items():
        whole = tally.whole
        kinds = ", ".join(f"{kind} {one.found}/{one.planted}" for kind, one in tally.by_kind.items())
        lines.append(
            f"| `{name}` | {kinds} | {whole.found}/{whole.planted} | {whole.recall:.2f} | {whole.findings} | "
            f"{whole.precision:.2f} | {tally.alarms} |"
        )
    return "\n".join(lines) + "\n"


def _write() -> None:
    from benchmarks.__main__ import database
    from benchmarks.writers import create_store

    from lineagelog.store import Database, open_engine

    tallies = {name: Tally() for name in ANALYSES}
    with database(None) as (url, _):
        for number, history in enumerate(histories()):
            create_store(url, f"planted_{number}")
            store = Database(open_engine(url), f"planted_{number}")
            look(store, history, tallies)
            store.dispose()
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_MARKED.sub(lambda _: table(tallies, len(SEEDS)), text), encoding="utf-8")


if __name__ == "__main__":
    _write()
