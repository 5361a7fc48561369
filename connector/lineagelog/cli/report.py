"""`lineagelog report`: a window of the log as one HTML file that can be sent on."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lineagelog.analysis import analyses, analyses_named
from lineagelog.errors import SettingsError
from lineagelog.shown import size

from .asking import AskedSince, AskedUntil, AsOf, complete_name
from .command import command
from .lists import window_of
from .printing import tell
from .session import Session

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from lineagelog.analysis import Analysis


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(
        app,
        "report",
        "lineagelog report --out report.html",
        "lineagelog report --out november.html --since 2026-11-01 --until 2026-12-01 --title 'Shop, November'",
        "lineagelog report --out tests.html --analysis test_failure_streak --analysis flaky_test",
    )(_report)


def _report(
    session: Session,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The HTML file to write; it replaces one of that name.")],
    title: Annotated[str, typer.Option(metavar="TEXT", help="Stands above it.")] = "Lineage report",
    analysis: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Ask this one; may be repeated. Else all that have findings, but for those that read events.",
            autocompletion=complete_name,
        ),
    ] = None,
    since: AskedSince = "-7d",
    until: AskedUntil = "now",
    as_of: AsOf = None,
) -> int:
    """Write a report of a window of the log: one HTML file, which opens anywhere and asks for nothing.

    Health at a glance, findings, executions, time lines of the worst jobs, volumes with the band that was expected,
    failing tests, what the worst finding reaches, and all jobs. An analysis that takes longer than analyse.time_limit
    is stopped and named in the report.
    """
    from lineagelog.export.files import write_file
    from lineagelog.read.analyses import terms_of
    from lineagelog.read.period import parse_instant
    from lineagelog.report import Wanted, collect, page

    chosen, window = _chosen(analysis), window_of(since, until)
    if not out.parent.is_dir():
        raise SettingsError(f"--out: there is no folder {out.parent}")
    wanted = Wanted(
        title=title,
        window=window,
        as_of=window.end if as_of is None else parse_instant(as_of, datetime.now(UTC)),
        analyses=chosen,
        terms=terms_of(session.settings.analyse),
    )
    with session.store() as store, _working() as show:
        report = collect(store.database, wanted, show)
    text = page(report).encode("utf-8", "backslashreplace")
    write_file(out, text)
    for each in report.stopped:
        tell(each)
    tell(f"wrote {out}: {size(len(text))}, {len(report.jobs)} jobs, {len(report.findings)} findings")
    return 0


def _chosen(names: list[str] | None) -> list[Analysis[Any]]:
    from lineagelog.report.source import usual_analyses

    if not names:
        return usual_analyses()
    chosen = analyses_named(names)
    if unfit := [each.name for each in chosen if each.needs_a_parameter or each not in _with_findings()]:
        raise SettingsError(f"--analysis takes those that find something by themselves, not {unfit[0]}")
    return chosen


def _with_findings() -> list[Analysis[Any]]:
    from lineagelog.analysis import Result

    return [each for each in analyses().values() if each.result is Result.FINDINGS]


class _Working:
    """Shows what is being read, to a person who waits."""

    def __init__(self) -> None:
        from rich.console import Console

        self._status = Console(stderr=True).status("reading …")

    def __enter__(self) -> Callable[[str], None]:
        self._status.start()
        return lambda part: self._status.update(f"{part} …")

    def __exit__(self, *_: object) -> None:
        self._status.stop()


def _working() -> AbstractContextManager[Callable[[str], None]]:
    return _Working() if sys.stderr.isatty() else nullcontext(_quiet)


def _quiet(_: str) -> None:
    """Says nothing."""
