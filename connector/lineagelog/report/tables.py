"""What the tables of the report share: heads, cells, the words and shapes of states and severities. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from lineagelog.analysis import Severity

from .markup import Content, Markup, icon, tag
from .model import JobStanding

type Column = tuple[str, str | None, str]
"""Its head, the class of its cells, and its width (empty: what is left)."""


def table(columns: Sequence[Column], rows: Iterable[Markup], *, key: str = "", heads: Sequence[Content] = ()) -> Markup:
    """A table; with a key its columns can be sorted, and it be filtered. ``heads`` stand in place of the words."""
    told = [
        tag("th", _head(word, is_button=bool(key)), class_=class_, scope="col")
        if not heads or heads[place] is None
        else tag("th", heads[place], class_=class_, scope="col")
        for place, (word, class_, _) in enumerate(columns)
    ]
    widths = [
        tag("col", width=width or None, class_="p3" if "p3" in (class_ or "") else None) for _, class_, width in columns
    ]
    head = tag("thead", tag("tr", told))
    group, body = tag("colgroup", widths), tag("tbody", list(rows))
    return tag("table", group, head, body, id=key or None, data_sort=bool(key))


def _head(word: str, *, is_button: bool) -> Content:
    return tag("button", word, type="button") if is_button and word else word


def row(*cells: Markup, class_: str | None = None) -> Markup:
    """A row of cells."""
    return tag("tr", cells, class_=class_)


def cell(*content: Content, class_: str | None = None, value: str | float | None = None) -> Markup:
    """A cell; ``value`` is what it is sorted by, where that is not its text."""
    return tag("td", content, class_=class_, data_v=value)


def time_value(at: datetime | None) -> float | str:
    """What a time is sorted by."""
    return "" if at is None else f"{at.astimezone(UTC).timestamp():.0f}"


def state(of: JobStanding) -> Markup:
    """Its shape and its word."""
    return tag("span", icon(of.shape), of.word, class_="state")


def severity(of: Severity) -> Markup:
    """One to four bars and the word."""
    bars = [
        tag(
            "rect",
            x=4 * place,
            y=9 - 3 * place,
            width=3,
            height=3 + 3 * place,
            class_="on" if place <= of.rank else None,
        )
        for place in range(4)
    ]
    drawn = tag("svg", bars, viewBox="0 0 15 12", aria_hidden="true")
    return tag("span", drawn, of.value.capitalize(), class_=f"sev {of.value}")


def section(key: str, title: str, sub: Content, *content: Content, end: Content = None) -> Markup:
    """A part of the report under its title."""
    head = tag("header", tag("h2", title), tag("span", sub, class_="sub"), end)
    return tag("section", head, content, id=key)


def empty(why: str, what: str = "", shape: str = "ok") -> Markup:
    """Where there is nothing: why, and what to do."""
    return tag("div", icon(shape), tag("p", why), tag("p", what, class_="dim") if what else None, class_="empty")


def legend(items: Iterable[tuple[Markup, str]]) -> Markup:
    """What marks mean."""
    return tag(
        "div", [tag("span", tag("svg", mark, viewBox="0 0 12 12"), word) for mark, word in items], class_="legend"
    )


def more(summary: str, *content: Content) -> Markup:
    """What is opened to be read."""
    return tag("details", tag("summary", summary), content)
