"""CPU per event of each phase of appending: compiled, without each compiled form, and pure, in turn.

    python -m benchmarks.phases [--events 8000] [--rounds 5]

Times are of the process's own CPU, so that other work on the machine disturbs them little; medians of the rounds. The
phases leave out the driver, the verdicts and the threads: `python -m benchmarks --only writers` has the whole. What a
form spares is the median of the rounds' differences, so that a round is compared with itself.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from itertools import batched
from typing import Any

from benchmarks.generator import generate
from lineagelog import compiled
from lineagelog.event.model import Event
from lineagelog.event.parse import parse
from lineagelog.postgres.pipeline import StatementPipeline
from lineagelog.postgres.wire import column_type, copy_data
from lineagelog.store import LogStoreSchema
from lineagelog.store.append.digest import Digest
from lineagelog.store.append.writer import BatchWriter, event_row
from lineagelog.store.definition.schema import EVENT_COLUMNS
from lineagelog.store.definition.tables import EVENT_TABLE

BATCH = 500
COMPILED, WITHOUT, PURE = "compiled", "without ", "pure Python"


class _NoPipeline(StatementPipeline):
    """Takes statements and sends none."""

    def __init__(self) -> None:
        pass

    def add(self, *_: Any) -> int:
        return 0


def measure(bodies: Sequence[bytes]) -> dict[str, float]:
    """Phase to microseconds of CPU per event, once."""
    schema = LogStoreSchema("bench")
    writer, table = BatchWriter(schema), schema.t(EVENT_TABLE)
    kinds = [column_type(table.c[name].type) for name in EVENT_COLUMNS]
    times: dict[str, float] = {}

    def timed[T](phase: str, work: Callable[[], T]) -> T:
        gc.collect()
        before = time.process_time()
        result = work()
        times[phase] = (time.process_time() - before) / len(bodies) * 1e6
        return result

    events = [event for event in timed("parse", lambda: [parse(body) for body in bodies]) if isinstance(event, Event)]
    batches = list(batched(events, BATCH))
    digests = timed("fold", lambda: [Digest.of(batch) for batch in batches])
    timed("digest rows", lambda: [writer.write_digest(_NoPipeline(), digest) for digest in digests])
    timed("event rows", lambda: [copy_data(kinds, map(event_row, batch)) for batch in batches])
    return times


def together(phases: dict[str, float]) -> float:
    """All phases of an event."""
    return sum(phases.values())


def report(forms: dict[str, list[dict[str, float]]]) -> str:
    """A table of medians by form and phase, with what the form left aside in a row spares."""
    phases = list(forms[PURE][0])
    lines = [f"| CPU, µs per event | {' | '.join(phases)} | together | spared |", "|---|" + "--:|" * (len(phases) + 2)]
    for form, rounds in forms.items():
        cells = [f"{statistics.median(one[phase] for one in rounds):.1f}" for phase in phases]
        cells.append(f"{statistics.median(map(together, rounds)):.1f}")
        lines.append(f"| {form} | {' | '.join(cells)} | {spared(forms, form)} |")
    return "\n".join(lines)


def spared(forms: dict[str, list[dict[str, float]]], form: str) -> str:
    """What a row lacks against the compiled one: microseconds, and that as a share of appending in pure Python."""
    if form == COMPILED or COMPILED not in forms:
        return ""
    pairs = zip(forms[form], forms[COMPILED], forms[PURE], strict=True)
    differences = [(together(one) - together(all_), together(pure)) for one, all_, pure in pairs]
    more = statistics.median(difference for difference, _ in differences)
    share = statistics.median(difference / pure for difference, pure in differences)
    return f"{more:.1f}, {share:.1%}"


def command_of(form: str) -> list[str]:
    """The Python that measures a form once; one that is left aside is taken out of the extension before its use."""
    without = form.removeprefix(WITHOUT) if form.startswith(WITHOUT) else None
    aside = f"from lineagelog import _compiled; del _compiled.{without}; " if without else ""
    return [sys.executable, "-c", f"{aside}from benchmarks.phases import main; main()"]


def in_turn(events: int, rounds: int) -> dict[str, list[dict[str, float]]]:
    """Each form in processes of its own, one after the other."""
    names = [COMPILED, *(WITHOUT + name for name in compiled.names()), PURE] if compiled.IN_USE else [PURE]
    forms: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for _ in range(rounds):
        for form, found in forms.items():
            environment = os.environ | ({"LINEAGELOG_PURE": "1"} if form == PURE else {})
            command = [*command_of(form), "--events", str(events), "--once"]
            output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
            found.append(json.loads(output))
    return forms


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.phases", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--events", type=int, default=8_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--once", action="store_true", help="measure the form in use once, as JSON")
    options = parser.parse_args()
    if options.once:
        gc.set_threshold(100_000, 20, 100)  # as loading does
        print(json.dumps(measure(list(generate(options.events)))))
    else:
        print(report(in_turn(options.events, options.rounds)))


if __name__ == "__main__":
    main()
