"""`lineagelog publish`: analyses into Egeria, from an outbox."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lineagelog.analysis import analyses_named
from lineagelog.errors import SettingsError

from .asking import WINDOW, AsOf
from .command import FINDINGS, OK, command
from .printing import Json, print_json, put, tell
from .session import Session
from .stopping import stopping

if TYPE_CHECKING:
    from lineagelog.egeria.remote import Egeria
    from lineagelog.publish import PlanItem, Report
    from lineagelog.read import Window
    from lineagelog.store import LogStore


def register(app: typer.Typer) -> None:
    """Add the command."""
    command(
        app,
        "publish",
        "lineagelog publish --dry-run",
        "lineagelog publish",
        "lineagelog publish --analysis run_profile --since -7d --until now",
        "lineagelog publish --watch",
    )(_publish)


def _publish(
    session: Session,
    analysis: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="What to publish; several times for several. Else egeria.analyses."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", rich_help_panel=WINDOW, help="From: a date, -7d or all. Else 30 days ago."),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="TIME", rich_help_panel=WINDOW, help="Before: the same, or now. Else last midnight, UTC."),
    ] = None,
    as_of: AsOf = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would be published.")] = False,
    look: Annotated[
        bool, typer.Option("--look", help="With --dry-run: ask Egeria what it holds, and tell what would change.")
    ] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Go on: every egeria.publish_seconds, until stopped.")] = False,
    json: Json = False,
) -> int:
    """Publish what analyses tell into Egeria: run metrics, data scopes, quality reports, findings.

    What is to be published goes to an outbox in the store (`lineagelog publications`) and from there to Egeria, once,
    also where Egeria is away for days or this process is killed. Where Egeria is: [egeria] in the settings. Exit 1 if
    Egeria refuses something, 2 if it cannot be used.
    """
    if look and not dry_run:
        raise SettingsError("--look goes with --dry-run")
    if dry_run and watch:
        raise SettingsError("--dry-run tells once: it does not go with --watch")
    asked = _Publishing(analysis or session.settings.egeria.analyses, since, until, as_of)
    if dry_run:
        return _dry_run(session, asked, look=look, json=json)
    return _send(session, asked, watch=watch, json=json)


class _Publishing:
    """Which analyses over which window, as the options say."""

    def __init__(self, names: Sequence[str], since: str | None, until: str | None, as_of: str | None) -> None:
        self._analyses = analyses_named(names)
        for each in self._analyses:
            if each.needs_a_parameter:
                raise SettingsError(f"{each.name} needs a parameter: it cannot be published")
        self._since, self._until, self._as_of = since, until, as_of
        self.window(_now())

    def window(self, now: datetime) -> Window:
        from lineagelog.publish.source import whole_days
        from lineagelog.read import Window
        from lineagelog.read.period import parse_instant, parse_start

        default = whole_days(now)
        start = default.start if self._since is None else parse_start(self._since, now)
        end = default.end if self._until is None else parse_instant(self._until, now)
        return Window(start, end)

    def wishes(self, session: Session, store: LogStore) -> list[PlanItem]:
        from lineagelog.publish.source import wishes
        from lineagelog.read.period import parse_instant

        now = _now()
        clock = None if self._as_of is None else parse_instant(self._as_of, now)
        return wishes(store.database, self._analyses, self.window(now), session.settings, clock)


def _now() -> datetime:
    """The clock of windows."""
    return datetime.now(UTC)


@contextmanager
def egeria_of(session: Session) -> Iterator[Egeria]:
    """Egeria as the settings name it."""
    from lineagelog.egeria.remote import Egeria

    with Egeria(session.settings.egeria) as egeria:
        yield egeria


def _dry_run(session: Session, asked: _Publishing, *, look: bool, json: bool) -> int:
    with session.store() as store:
        wished = asked.wishes(session, store)
    changes = _looked(session, wished) if look else [None] * len(wished)
    if json:
        print_json([_document(wish, change) for wish, change in zip(wished, changes, strict=True)])
        return OK
    about = None
    for wish, change in zip(wished, changes, strict=True):
        if about != (about := str(wish.about)):
            put(about)
        put(f"  {wish.kind} {wish.day}".rstrip() + f": {_summary(wish)}")
        for line in change or ():
            put(f"    {line['call']}")
    tell(f"{len(wished)} would be published; nothing was sent")
    return OK


def _looked(session: Session, wished: list[PlanItem]) -> list[list[dict[str, Any]] | None]:
    """What would be asked of Egeria for each."""
    from lineagelog.publish.look import Looking
    from lineagelog.publish.realise import NoElementError, Realiser

    with egeria_of(session) as egeria:
        looking = Looking(egeria)
        realiser, found = Realiser(looking), []
        for wish in wished:
            looking.changes = []
            try:
                realiser.realise(wish, {})
            except NoElementError as error:
                looking.changes = [{"call": f"nothing: {error}"}]
            found.append(looking.changes)
    return list(found)


def _document(wish: PlanItem, changes: list[dict[str, Any]] | None) -> dict[str, Any]:
    told = {
        "kind": wish.kind,
        "subject": {"kind": wish.about.kind, "namespace": wish.about.namespace or None, "name": wish.about.name},
        "day": wish.day or None,
        "content_hash": str(wish.content_hash),
        "content": dict(wish.content),
    }
    return told if changes is None else {**told, "changes": changes}


def _summary(wish: PlanItem) -> str:
    content = wish.content
    parts = [
        f"{len(content[name])} {word}"
        for name, word in (
            ("additionalProperties", "properties"),
            ("annotations", "annotations"),
            ("findings", "findings"),
            ("datasets", "datasets"),
        )
        if name in content
    ]
    return ", ".join(parts) or "an element"


def _send(session: Session, asked: _Publishing, *, watch: bool, json: bool) -> int:
    from lineagelog.publish import Publisher, Watch
    from lineagelog.store.ledgers.publications import Publications

    with session.store() as store, egeria_of(session) as egeria:
        publisher = Publisher(Publications(store.database), egeria)
        keep = session.settings.egeria.reports_kept
        if watch:
            every = session.settings.egeria.publish_seconds
            with stopping() as stop:
                Watch(publisher, lambda: asked.wishes(session, store), every=every, days_kept=keep).run(stop)
            return OK
        planned = publisher.keep(asked.wishes(session, store), days_kept=keep)
        report = publisher.publish()
    _tell(report, planned, json=json)
    return OK if report.is_clean else FINDINGS


def _tell(report: Report, planned: int, *, json: bool) -> None:
    from msgspec.structs import asdict

    if json:
        print_json({"planned": planned, **asdict(report)})
        return
    counts = {
        "new or changed": planned,
        "confirmed": report.confirmed,
        "withdrawn": report.withdrawn,
        "unknown to Egeria": report.unknown,
        "refused": report.parked,
        "to be tried again": report.failed,
    }
    put(", ".join(f"{count} {word}" for word, count in counts.items() if count) or "nothing to publish")
    for problem, count in report.problems.most_common(5):
        tell(f"{count} × {problem}")
    if report.parked:
        tell("see `lineagelog publications list --state parked`")
