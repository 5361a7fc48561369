"""HTML and SVG from texts: whatever is no markup of ours is masked, made visible and escaped."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from html import escape
from typing import Final

from lineagelog.shown import line_for_people

type Content = str | int | float | Iterable["Content"] | None

_SHORT: Final = 44
_VOID: Final = frozenset(("meta", "br", "input", "col", "link"))


class Markup(str):
    """Text that is HTML already: only the functions here make it."""

    __slots__ = ()


NOTHING: Final = Markup()


def safe(content: Content) -> Markup:
    """Any content as HTML: a text escaped, of several one after the other, nothing for None."""
    if content is None:
        return NOTHING
    if isinstance(content, Markup):
        return content
    if isinstance(content, str):
        before, after = (" " if each.isspace() else "" for each in (content[:1], content[-1:]))
        return Markup(f"{before}{escape(line_for_people(content))}{after}")
    if isinstance(content, int | float):
        return Markup(number(content))
    return Markup("".join(map(safe, content)))


def tag(name: str, *content: Content, **attributes: str | float | bool | None) -> Markup:
    """An element. Of the attributes' names ``_`` is ``-`` and a last one falls away; None and False are left out."""
    told = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{_attribute(key, value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return Markup(f"<{name}{told}>" if name in _VOID else f"<{name}{told}>{safe(content)}</{name}>")


def _attribute(key: str, value: str | float) -> str:
    if not isinstance(value, str):
        return f"{value:.7g}"
    return escape(line_for_people(value) if key == "title" else value)


def number(value: float) -> str:
    """A count with thin separators that do not break; a fraction with at most one digit."""
    text = f"{value:,.1f}".removesuffix(".0") if isinstance(value, float) else f"{value:,}"
    return text.replace(",", "\u202f")


def short(text: str, most: int = _SHORT) -> str:
    """A name cut in its middle."""
    text = line_for_people(text)
    if len(text) <= most:
        return text
    tail = most * 2 // 5
    return f"{text[: most - tail - 1]}…{text[-tail:]}"


def name(text: str, most: int = _SHORT) -> Markup:
    """A name in any script, isolated from its surroundings; whole in its title."""
    cut = short(text, most)
    title = text if cut != text or len(text) > 20 else None
    return tag("bdi", cut, class_="name", dir="auto", title=title)


def grey(text: str | None, most: int = 28) -> Markup:
    """A namespace, cut at its end: they differ in front."""
    if not text:
        return tag("span", "–", class_="dim")
    line = line_for_people(text)
    cut = line if len(line) <= most else f"{line[: most - 1]}…"
    return tag("bdi", cut, class_="dim", dir="auto", title=text if len(text) > 14 else None)


def moment(at: datetime | None, *, with_year: bool = False) -> Markup:
    """A time in UTC, to the minute; with the year where that is asked."""
    if at is None:
        return tag("span", "–", class_="dim")
    at = at.astimezone(UTC)
    text = f"{at.day} {at:%b %Y %H:%M}" if with_year else f"{at.day} {at:%b %H:%M}"
    return tag("time", text, datetime=at.isoformat(timespec="seconds"), title=f"{at:%Y-%m-%d %H:%M:%S} UTC")


def icon(shape: str) -> Markup:
    """One of the shapes of `icons`, in its colour."""
    return Markup(f'<svg class="i c-{shape}" aria-hidden="true"><use href="#i-{shape}"></use></svg>')


_ICONS: Final = {
    "fail": '<rect x="1.5" y="1.5" width="13" height="13" rx="2"/><path d="M5 5l6 6M11 5l-6 6"/>',
    "ok": '<path d="M2.5 8.5l4 4 7-9"/>',
    "late": '<circle cx="8" cy="8" r="6.5"/><path d="M8 4v4.3l3 1.7"/>',
    "stuck": '<path d="M3 1.5h10M3 14.5h10M4 1.5c0 4 8 9 8 13M12 1.5c0 4-8 9-8 13"/>',
    "run": '<circle cx="8" cy="8" r="6.5"/><path class="full" d="M8 1.5a6.5 6.5 0 0 1 0 13z"/>',
    "stop": '<circle cx="8" cy="8" r="6.5"/><path d="M3.5 12.5l9-9"/>',
    "none": '<circle cx="8" cy="8" r="6.5" stroke-dasharray="2.5 2"/>',
    "retry": '<path d="M13.5 8A5.5 5.5 0 1 1 11.6 3.9"/><path d="M12 .8v3.6H8.4"/>',
    "warn": '<path d="M8 1.8L15 14.2H1z"/><path d="M8 6v4M8 11.8v.6"/>',
}


def icons() -> Markup:
    """The shapes, once per page."""
    shapes = "".join(f'<symbol id="i-{key}" viewBox="0 0 16 16">{drawn}</symbol>' for key, drawn in _ICONS.items())
    return Markup(f'<svg class="defs" aria-hidden="true">{shapes}</svg>')
