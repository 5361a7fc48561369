"""How values are written for people: names, times, numbers, states."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

import orjson
from markupsafe import Markup

from lineagelog.analysis.words import span
from lineagelog.shown import for_people, line_for_people, mask_text, mask_tree, visible

STATES: Final = {
    "completed": ("ok", "ok", "Completed"),
    "failed": ("bad", "failed", "Failed"),
    "fixed": ("warn", "fixed", "Fixed by retry"),
    "running": ("run", "running", "Running"),
    "aborted": ("stop", "aborted", "Aborted"),
    "late": ("warn", "late", "Late"),
    "stuck": ("warn", "stuck", "Stuck"),
    "stale": ("warn", "stale", "Stale"),
    "none": ("idle", "waiting", "No run yet"),
}
"""State: the class of its colour, its shape, its word."""
_LONG: Final = 400
_TITLE: Final = 2000
_JSON: Final = 400_000
"""Characters of an event that are shown."""
_THIN: Final = "\u202f"


def name_parts(text: str) -> tuple[str, str, str]:
    """The two parts of a name that gives way in the middle, and the title; without credentials and control signs."""
    shown = line_for_people(text)
    title = shown[:_TITLE]
    if len(shown) > _LONG:
        return f"{shown[:200]}…", shown[-14:], title
    tail = 0 if len(shown) <= 14 else max(6, min(14, int(len(shown) * 0.42)))
    return (shown[:-tail], shown[-tail:], title) if tail else (shown, "", title)


def masked(text: str) -> str:
    """A name as it is, but for credentials."""
    return mask_text(text)


def people(text: str | None) -> str:
    """A text of events as a person may see it."""
    return "" if text is None else for_people(text)


def count(value: float | None) -> str:
    """A whole number, in groups of three."""
    return "–" if value is None else f"{round(value):,}".replace(",", _THIN)


def compact(value: float | None) -> str:
    """A number in three digits or so."""
    if value is None:
        return "–"
    for limit, sign in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= limit:
            return f"{value / (1e3 if sign == 'k' else limit):.3g}{_THIN}{sign}"
    return count(value)


def volume(value: float | None) -> str:
    """Bytes."""
    if value is None:
        return "–"
    for limit, sign in ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if value >= limit:
            return f"{value / limit:.3g}{_THIN}{sign}"
    return f"{round(value)}{_THIN}B"


def several(number: int, thing: str) -> str:
    """A number of things."""
    return f"{count(number)} {thing}{'' if number == 1 else 's'}"


def length(seconds: float | None) -> str:
    """A length of time."""
    return "–" if seconds is None else span(seconds)


def relative(at: datetime, now: datetime) -> str:
    """How long ago, or when."""
    seconds = (now - at).total_seconds()
    away = abs(seconds)
    for below, unit, word in ((90, 1, "s"), (5400, 60, "min"), (129600, 3600, "h"), (float("inf"), 86400, "d")):
        if away < below:
            text = f"{round(away / unit)} {word}"
            break
    return "now" if away < 5 else f"{text} ago" if seconds > 0 else f"in {text}"


def when(at: datetime | None, form: str = "rel", now: datetime | None = None) -> Markup:
    """A time that the page's script tells in the viewer's zone; without it in UTC."""
    if at is None:
        return Markup("–")
    at = at.astimezone(UTC)
    text = relative(at, now or datetime.now(UTC)) if form == "rel" else f"{at:%d %b %H:%M} UTC"
    iso = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return Markup('<time datetime="{}" data-as="{}">{}</time>').format(iso, form, text)


def strip(states: Sequence[str] | None, label: str) -> Markup:
    """Small bars, oldest left: their height and colour tell what came of it."""
    shapes = {"FAIL": ("bad", 16), "ABORT": ("stop", 10), "FIXED": ("fix", 10), "COMPLETE": ("ok", 5)}
    bars = []
    first = 20 - min(20, len(states or ()))
    for place, state in enumerate(reversed((states or ())[:20]), first):
        kind, height = shapes.get(state, ("run", 10))
        bars.append(f'<rect class="{kind}" x="{place * 6}" y="{16 - height}" width="4" height="{height}"/>')
    text = Markup("{}: {}").format(label, told(states or ()))
    return Markup(
        '<svg class="mini" width="120" height="16" role="img" aria-label="{}"><title>{}</title>{}</svg>'
    ).format(text, text, Markup("".join(bars)))  # noqa: S704  # numbers and words of our own


def told(states: Sequence[str]) -> str:
    """How many of each."""
    words = {"COMPLETE": "completed", "FAIL": "failed", "ABORT": "aborted", "FIXED": "fixed by retry"}
    counts: dict[str, int] = {}
    for state in states:
        counts[words.get(state, "running")] = counts.get(words.get(state, "running"), 0) + 1
    return ", ".join(f"{number} {word}" for word, number in counts.items()) or "none"


def results(latest: Sequence[bool | None], label: str) -> Markup:
    """The same of results of a test."""
    words = {True: "COMPLETE", False: "FAIL", None: "RUNNING"}
    drawn = strip([words[each] for each in latest[:20]], label)
    return Markup(str(drawn).replace(" completed", " passed").replace(" running", " skipped"))  # noqa: S704  # ours


def band(value: float | None, low: float | None, high: float | None, label: str) -> Markup:
    """Where a value lies: the band is the middle third."""
    if low is None or high is None:
        return Markup("")
    mark = ""
    if value is not None:
        reach = max(high - low, 1e-9)
        at = 28 + 28 * (value - low) / reach
        if at < 28 or at > 56:
            x = max(6.0, min(78.0, at))
            way = "l5.5 9h-11z" if at > 56 else "l5.5-9h-11z"
            mark = f'<path class="out" d="M{x:.1f} {3 if at > 56 else 13}{way}"/>'
        else:
            mark = f'<circle class="dot" cx="{at:.1f}" cy="8" r="3"/>'
    drawn = (
        '<line class="base" x1="0" x2="84" y1="8.5" y2="8.5"/><rect class="band" x="28" y="3" width="28" height="10"/>'
        '<line class="edge" x1="28" x2="28" y1="3" y2="13"/><line class="edge" x1="56" x2="56" y1="3" y2="13"/>' + mark
    )
    return Markup(
        '<svg class="mini" width="84" height="16" role="img" aria-label="{}"><title>{}</title>{}</svg>'
    ).format(label, label, Markup(drawn))  # noqa: S704  # numbers of our own


def json_text(content: str) -> str:
    """An event, formatted, without credentials; cut where it is very long."""
    try:
        text = json.dumps(mask_tree(orjson.loads(content)), indent=2, ensure_ascii=False)
    except ValueError:
        text = content
    text = visible(text)
    return text if len(text) <= _JSON else f"{text[:_JSON]}\n… {len(text) - _JSON} more characters"


def said(value: Any) -> str:
    """A value of a finding in words."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple):
        return ", ".join(said(each) for each in value[:20]) + (" …" if len(value) > 20 else "")
    if isinstance(value, dict):
        return ", ".join(f"{name} {said(each)}" for name, each in list(value.items())[:20])
    return people(str(value))


def words_of(name: str) -> str:
    """The name of an analysis as a title."""
    return name.replace("_", " ").capitalize()
