"""`lineagelog forward …`: stored events to other OpenLineage backends, once or continuously."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperGroup

from lineagelog.errors import InputError, SettingsError
from lineagelog.shown import counted, line_for_people

from .command import ERROR, FINDINGS, OK, command
from .printing import Csv, Form, Json, JsonLines, form_of, print_json, print_rows, put
from .session import Session
from .stopping import stopping

if TYPE_CHECKING:
    from lineagelog.forward import Forwarder, ForwardTarget, Sent
    from lineagelog.store.ledgers.forwarding import Forwarding, LetterRow

_STATUS: Final = (
    "target",
    "state",
    "lag_events",
    "lag_seconds",
    "rate",
    "delivered",
    "parked",
    "filtered",
    "gap",
    "problem",
)
_LETTERS: Final = ("id", "target", "state", "reason", "status", "count", "last_parked_at", "run_id", "detail")
_RUN: Final = "run"


class _ForwardGroup(TyperGroup):
    """`forward TARGET` is `forward run TARGET`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `run` before what is no sub-command and no request for help."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [_RUN, *args]
        return super().parse_args(ctx, args)


group = typer.Typer(
    cls=_ForwardGroup,
    no_args_is_help=True,
    help="Forward stored events to other OpenLineage backends: `lineagelog forward TARGET [OPTIONS]`.",
)
parked = typer.Typer(no_args_is_help=True, help="Events that a target refused: list them, try them again, skip them.")
group.add_typer(parked, name="parked")

Target = Annotated[str, typer.Argument(metavar="TARGET", help="Name of a [forward.NAME] section, a URL or a file.")]
OfTarget = Annotated[str | None, typer.Option("--target", metavar="TARGET", help="Only those of this target.")]
Ids = Annotated[list[int] | None, typer.Argument(metavar="ID", help="Numbers that `forward parked list` shows.")]
Since = Annotated[str | None, typer.Option(metavar="TIME", help="A range: event times from here, such as -7d …")]
Until = Annotated[str | None, typer.Option(metavar="TIME", help="… and before this. Sent or not, the range is sent.")]
Follow = Annotated[bool, typer.Option("--follow", help="Go on with what arrives, until interrupted.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Count what would be sent; send nothing.")]
Probe = Annotated[bool, typer.Option("--probe", help="Ask the target whether it would take events; send none.")]


@command(
    group,
    _RUN,
    "lineagelog forward marquez",
    "lineagelog forward run marquez --follow",
    "lineagelog forward marquez --probe",
    "lineagelog forward marquez --since 2026-03-01 --until 2026-04-01",
    "lineagelog forward export/events.ndjson.zst --since -7d",
)
def _run(
    session: Session,
    target: Target,
    since: Since = None,
    until: Until = None,
    follow: Follow = False,
    dry_run: DryRun = False,
    probe: Probe = False,
    json: Json = False,
) -> int:
    """Forward to a target what was not forwarded to it yet, in order of arrival, or a range of event times.

    The place is remembered per target; a range leaves it alone. Events that the target refuses are parked. With
    --probe nothing is sent but requests without events: exit code 0 if path and authentication are right, else 2.
    """
    is_range = since is not None or until is not None
    if follow and (is_range or dry_run):
        raise SettingsError("--follow goes on with what arrives: it excludes --since, --until and --dry-run")
    if probe and (is_range or dry_run or follow):
        raise SettingsError("--probe sends no events: it excludes --follow, --since, --until and --dry-run")
    if probe:
        return _probe(session, target, json=json)
    bounds = _instant(since), _instant(until)
    with session.store() as store, stopping() as stop:
        forwarder, forwarding = _forwarder(session, store, target, stop)
        if dry_run:
            found = vars(forwarder.survey(*bounds, is_range=is_range))
            print_json(found) if json else put(_survey_text(forwarder.target, found))
            return OK
        total = _total(forwarding, forwarder.target, *bounds, is_range=is_range, follow=follow)
        with _progress(total) as update:
            forwarder.observer = update
            go = forwarder.follow if follow else forwarder.run
            sent = forwarder.forward_range(*bounds) if is_range else go()
    print_json(_sent_row(sent)) if json else put(_sent_text(sent))
    return FINDINGS if sent.parked else OK


@command(group, "status", "lineagelog forward status", "lineagelog forward status --json | jq .lag_events")
def _status(session: Session, json: JsonLines = False, csv: Csv = False) -> int:
    """Show how far behind each target is, in events and seconds, how fast it goes, and what is wrong with it."""
    from lineagelog.forward.status import status_row
    from lineagelog.store.ledgers.forwarding import Forwarding

    with session.store() as store:
        forwarding = Forwarding(store.database)
        known = {row.target: row for row in forwarding.cursors()}
        rows = [status_row(forwarding, name, known.get(name)) for name in sorted({*known, *session.settings.forward})]
    columns = _STATUS if form_of(json=json, csv=csv) is Form.TABLE else (*_STATUS, "held_back", "held_back_by")
    print_rows(form_of(json=json, csv=csv), columns, rows)
    for row in rows if form_of(json=json, csv=csv) is Form.TABLE else ():
        if row["gap"]:
            when = f"{row['gap_before']:%Y-%m-%dT%H:%M:%SZ}"
            put(f"{row['target']}: {counted(row['gap'], 'events')} before {when} purged before being sent")
    return FINDINGS if any(row["parked"] or row["problem"] for row in rows) else OK


@command(group, "rebase", "lineagelog forward rebase --yes")
def _rebase(
    session: Session,
    yes: Annotated[bool, typer.Option("--yes", help="Nothing writes to the store now.")] = False,
) -> None:
    """Once after a restore from pg_dump: let forwarding go on where it was, in the new database cluster."""
    from lineagelog.store.ledgers.forwarding import Forwarding

    if not yes:
        raise SettingsError("rebase rewrites the events' order of arrival: stop all writers, then say --yes")
    with session.store() as store:
        put(f"rebased {counted(Forwarding(store.database).rebase(), 'events')}")


@command(group, "forget", "lineagelog forward forget old_marquez --yes")
def _forget(
    session: Session,
    target: Target,
    yes: Annotated[bool, typer.Option("--yes", help="The target gets nothing more from its place on.")] = False,
) -> None:
    """Remove the place of a target that is gone, and what is parked for it: a purge does not wait for it any more."""
    import structlog

    from lineagelog.logs import configure_logs
    from lineagelog.shown import mask_text
    from lineagelog.store.ledgers.forwarding import Forwarding

    name = mask_text(target)  # as find_target has it for a URL; a section may be gone
    if not yes:
        raise SettingsError(f"forget removes the place of {name!r} and its parked events for good: say --yes")
    configure_logs(session.settings.log.level, session.settings.log.format)
    with session.store() as store:
        forgotten = Forwarding(store.database).forget(name)
        who = store.engine.url.username
    if forgotten is None:
        raise InputError(f"nothing is known of a target {name!r}: see `lineagelog forward status`")
    lost = {"delivered": forgotten.delivered, "not_sent": forgotten.lag_events, "parked": forgotten.parked}
    structlog.get_logger(__name__).info("target forgotten", action="forward forget", target=name, role=who, **lost)
    put(f"forgotten: {name}, with {counted(forgotten.lag_events, 'events')} not sent and {forgotten.parked} parked")
    if name in session.settings.forward:
        put(f"the settings still have a section [forward.{name}]: it begins anew, and a purge waits for it")


@command(parked, "list", "lineagelog forward parked list", "lineagelog forward parked list --target marquez --json")
def _list(
    session: Session,
    target: OfTarget = None,
    state: Annotated[str, typer.Option(metavar="STATE", help="parked, delivered, skipped, gone or all.")] = "parked",
    json: JsonLines = False,
    csv: Csv = False,
) -> None:
    """List events that a target refused, oldest first, with what it said."""
    from msgspec.structs import asdict

    from lineagelog.store.ledgers.forwarding import Forwarding

    if state not in ("parked", "delivered", "skipped", "gone", "all"):
        raise InputError(f"--state {state!r} is none of parked, delivered, skipped, gone, all")
    with session.store() as store:
        letters = Forwarding(store.database).letters(target, None if state == "all" else state)
        form = form_of(json=json, csv=csv)
        names = _LETTERS if form in (Form.TABLE, Form.TABS) else tuple(_names())
        print_rows(form, names, map(asdict, letters))


@command(parked, "retry", "lineagelog forward parked retry marquez", "lineagelog forward parked retry marquez 17 18")
def _retry(session: Session, target: Target, ids: Ids = None, json: Json = False) -> int:
    """Send parked events of a target once more, all of them or those given."""
    with session.store() as store, stopping() as stop:
        forwarder, forwarding = _forwarder(session, store, target, stop)
        chosen = _chosen(forwarding.letters(forwarder.target.name), ids)
        counts = forwarder.retry(chosen)
    text = f"delivered {counts['delivered']}, parked again {counts['parked']}, purged meanwhile {counts['gone']}"
    print_json(counts) if json else put(text)
    return FINDINGS if counts["parked"] or counts["gone"] else OK


@command(parked, "skip", "lineagelog forward parked skip marquez 17", "lineagelog forward parked skip marquez --all")
def _skip(
    session: Session,
    target: Target,
    ids: Ids = None,
    every: Annotated[bool, typer.Option("--all", help="All that are parked.")] = False,
) -> None:
    """Give parked events of a target up: they are not listed any more. The log keeps them."""
    from lineagelog.forward import find_target
    from lineagelog.store.ledgers.forwarding import Forwarding

    if bool(ids) is every:
        raise SettingsError("say which: the numbers of parked events, or --all")
    with session.store() as store:
        forwarding = Forwarding(store.database)
        name = find_target(target, session.settings.forward).name
        put(f"skipped {forwarding.mark_letters(_chosen(forwarding.letters(name), ids), 'skipped')}")


def _probe(session: Session, name: str, *, json: bool) -> int:
    """Ask, say what was found, and remember it."""
    from msgspec.structs import asdict

    from lineagelog.forward import find_target
    from lineagelog.forward.probe import probe, require_http
    from lineagelog.service.targets import require_any
    from lineagelog.store.ledgers.forwarding import Forwarding, Known

    target = find_target(name, session.settings.forward)
    require_http(target)
    require_any(target)
    with session.store() as store:
        forwarding = Forwarding(store.database)
        rows = [row for row in forwarding.cursors() if row.target == target.name]
        known = Known(learnt=rows[0].learnt) if rows else Known()
        found, learnt = probe(target, known)
        if learnt is not None:
            forwarding.remember(target.name, learnt)
    print_json(asdict(found)) if json else put(f"{target.name}: {' '.join(found.says)}")
    return OK if found.is_fine else ERROR


# --- parts ----------------------------------------------------------------------------------------------------------


def _forwarder(session: Session, store: Any, name: str, stop: threading.Event) -> tuple[Forwarder, Forwarding]:
    from lineagelog.forward import Forwarder, find_target
    from lineagelog.logs import configure_logs
    from lineagelog.service.targets import open_any
    from lineagelog.store.ledgers.forwarding import Forwarding

    configure_logs(session.settings.log.level, session.settings.log.format)  # to stderr: stdout has the result
    forwarding = Forwarding(store.database)
    return Forwarder(forwarding, find_target(name, session.settings.forward), open_any, stop=stop), forwarding


def _instant(text: str | None) -> datetime | None:
    from lineagelog.read.period import parse_instant

    return None if text is None else parse_instant(text, datetime.now(UTC))


def _chosen(letters: Iterator[LetterRow], ids: list[int] | None) -> Sequence[int]:
    known = [letter.id for letter in letters]
    if not ids:
        return known
    if unknown := sorted(set(ids) - set(known)):
        raise InputError(f"event {unknown[0]} is not parked for this target: see `lineagelog forward parked list`")
    return sorted(set(ids))


def _total(
    forwarding: Forwarding,
    target: ForwardTarget,
    since: datetime | None,
    until: datetime | None,
    *,
    is_range: bool,
    follow: bool,
) -> int | None:
    """Events that a progress bar runs to; None without one."""
    from lineagelog.store.ledgers.forwarding import START

    if follow or not sys.stderr.isatty():
        return None
    if is_range:
        return forwarding.count_range(since, until)
    places = {row.target: row.position for row in forwarding.cursors()}
    return forwarding.lag(places.get(target.name, START)).events


@contextmanager
def _progress(total: int | None) -> Iterator[Callable[[Sent], None] | None]:
    """A bar with rate and remaining time, for somebody who watches."""
    if total is None:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)

        def update(sent: Sent) -> None:
            text = line_for_people(sent.problem or "") or f"{sent.rate:,.0f} events/s"
            progress.update(task, completed=sent.events, description=text)

        yield update


def _sent_row(sent: Sent) -> dict[str, Any]:
    from msgspec.structs import asdict

    return {**asdict(sent), "rate": round(sent.rate, 1)}


def _sent_text(sent: Sent) -> str:
    text = f"{sent.target}: delivered {sent.delivered}, parked {sent.parked}, filtered {sent.filtered}"
    return text + (": lineagelog forward parked list" if sent.parked else "")


def _survey_text(target: ForwardTarget, found: dict[str, int]) -> str:
    return (
        f"{target.name}: would send {counted(found['events'], 'events')} ({counted(found['bytes'], 'bytes')}) to "
        f"{target.shown_url}; filtered {found['filtered']}, too large {found['too_large']}, "
        f"with masked credentials {found['redacted']}"
    )


def _names() -> tuple[str, ...]:
    from lineagelog.store.ledgers.forwarding import LetterRow

    return LetterRow.__struct_fields__
