"""`lineagelog load`: events from files, folders and standard input into the store."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Final

import typer

from lineagelog.shown import counted

from .command import ERROR, FINDINGS, OK, command
from .printing import Json, print_json, put, tell
from .session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lineagelog.errors import InputError
    from lineagelog.intake import Delivery, Door, FileProgress, Outcome, Tally
    from lineagelog.settings import IntakeSettings

_WORTH_STATISTICS: Final = 1000
"""New events after which queries are planned anew."""
_TOLD: Final = 10
"""Refused events that are named; the others are counted."""


def register(app: typer.Typer) -> None:
    """Mount the command."""
    command(
        app,
        "load",
        "lineagelog load examples/",
        "lineagelog load events.ndjson.gz more/ --database postgresql://me@db/lineage",
        "zcat old.gz | lineagelog load -",
    )(_load)


def _load(
    session: Session,
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="Files, folders, or - for stdin.")],
    json: Json = False,
) -> int:
    """Load events from files and folders.

    JSON (an event, an array or {"events": […]}), one document or many: a line each (NDJSON), pretty-printed, one after
    the other; these as .gz; Egeria's *.openlineageevent files. An event that is stored already counts as duplicate, so
    that a load that was stopped may simply be started again.
    """
    from lineagelog.intake import FileProgress, Tally

    settings, progress = session.settings.intake, FileProgress()
    check = session.check()
    with session.store(create=True, pool_size=settings.writers) as store:
        from lineagelog.intake import Door

        tally = Tally()
        door = Door(store, check=check, max_event=settings.max_event, max_values=settings.max_event_values)
        _load_into(door, paths, settings, tally, progress)
        if tally.stored >= _WORTH_STATISTICS:
            from lineagelog.store import gather_statistics

            gather_statistics(store.database)
    return _finish(tally, progress, as_json=json)


def _load_into(door: Door, paths: list[str], settings: IntakeSettings, tally: Tally, progress: FileProgress) -> None:
    from lineagelog.intake import load, read_paths

    with _progress(paths, tally, progress) as update:
        deliveries = read_paths(paths, progress=progress, on_problem=_tell_problem, max_event=settings.max_event)
        positions: deque[str] = deque()  # of the events that are on their way
        try:
            noted = _noting(deliveries, positions)
            batches = load(door, noted, source="file", batch=settings.batch, connections=settings.writers)
            for outcomes in batches:
                _tell_dead(outcomes, [positions.popleft() for _ in outcomes], tally.dead)
                tally.count(outcomes)
                update()
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"interrupted: {tally}; run it again to go on, nothing is stored twice") from None


def _finish(tally: Tally, progress: FileProgress, *, as_json: bool) -> int:
    if progress.skipped:
        tell(f"passed over {counted(progress.skipped, 'files')}: by their names no event files")
    if tally.dead > _TOLD:
        tell(f"{tally.dead - _TOLD:,} more refused: lineagelog dead-letters list")
    print_json(tally.as_json() | _files(progress)) if as_json else put(tally)
    if progress.problems and not progress.files:
        return ERROR
    return FINDINGS if tally.dead or progress.problems else OK


def _files(progress: FileProgress) -> dict[str, int]:
    return {
        "files": progress.files,
        "skipped_files": progress.skipped,
        "unreadable_files": progress.problems,
    }


def _tell_problem(problem: InputError) -> None:
    tell(f"lineagelog: {problem}")


def _noting(deliveries: Iterable[Delivery], positions: deque[str]) -> Iterator[Delivery]:
    for delivery in deliveries:
        positions.append(delivery.position)
        yield delivery


def _tell_dead(outcomes: list[Outcome], positions: list[str], already: int) -> None:
    """Name the first refused events."""
    refused = [
        (place, outcome.rejected) for place, outcome in zip(positions, outcomes, strict=True) if outcome.rejected
    ]
    for place, rejected in refused[: max(_TOLD - already, 0)]:
        tell(f"refused: {place}: {rejected}")


@contextmanager
def _progress(paths: list[str], tally: Tally, progress: FileProgress) -> Iterator[Callable[[], None]]:
    """A bar with the rate, for somebody who watches; the returned function moves it."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    from lineagelog.intake import total_size

    columns = (BarColumn(), DownloadColumn(), TextColumn("{task.description}", markup=False), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total_size(paths))

        def update() -> None:
            rate = tally.read / max(tally.seconds, 0.001)
            bar.update(task, completed=progress.size, description=f"{counted(tally.read, 'events')}, {rate:,.0f}/s")

        yield update
