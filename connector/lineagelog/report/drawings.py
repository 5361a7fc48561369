"""Executions, results and volumes as SVG. Pure. Colour is never alone: place, height or shape says the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import Final

from .axes import even_scale, number_label, round_numbers, ticks, time_label
from .markup import Content, Markup, number, tag
from .model import SpanCount, TimeScale, VolumeLine, VolumePoint

STACK: Final = {
    "FAIL": "fail",
    "ABORT": "stop",
    "RETRIED": "retry",
    "RUNNING": "run",
    "OTHER": "none",
    "COMPLETE": "ok",
}
"""Outcomes from the axis up, so that failures compare; the colour of each."""
WORDS: Final = {
    "FAIL": "failed",
    "ABORT": "aborted",
    "RETRIED": "fixed by retry",
    "RUNNING": "running",
    "OTHER": "unknown",
    "COMPLETE": "completed",
}
_LEFT: Final = 44
_WIDTH: Final = 1140
_TOP, _BASE = 12, 150
LINE_WIDTH: Final = 456


def _svg(width: int, height: int, label: str, *content: Content, class_: str = "chart") -> Markup:
    box = f"0 0 {width} {height}"
    return tag("svg", content, viewBox=box, width=width, height=height, role="img", aria_label=label, class_=class_)


def _known(outcome: str) -> str:
    return outcome if outcome in STACK else "OTHER"


def bars(scale: TimeScale, spans: Sequence[SpanCount]) -> Markup:
    """Executions by when they began, failures at the axis and their number below it."""
    counts: dict[int, dict[str, int]] = {}
    for each in spans:
        place = counts.setdefault(each.place, {})
        place[_known(each.outcome)] = place.get(_known(each.outcome), 0) + each.executions
    most = max((sum(each.values()) for each in counts.values()), default=1)
    grid = round_numbers(0, max(most, 4), 4)
    width = (_WIDTH - _LEFT) / scale.spans
    lines: list[Content] = []
    for value in grid:
        y = _BASE - (_BASE - _TOP) * value / grid[-1]
        lines += [
            tag("path", d=f"M{_LEFT} {y:.1f}H{_WIDTH}", class_="axis" if value == 0 else "grid"),
            tag("text", number_label(value), x=_LEFT - 8, y=y + 4, text_anchor="end"),
        ]
    stacks = [
        tag("g", _stack(_LEFT + place * width, width, each, grid[-1]), tag("title", _told(scale, place, each)))
        for place, each in sorted(counts.items())
        if 0 <= place < scale.spans
    ]
    return _svg(
        _WIDTH, 186, "Executions by when they began", lines, stacks, _failed(counts, width), _labels(scale, width)
    )


def _stack(x: float, width: float, counts: dict[str, int], top: float) -> Iterator[Markup]:
    y = float(_BASE)
    gap = min(6.0, width * 0.2)
    for outcome, colour in STACK.items():
        if count := counts.get(outcome):
            height = max(3.0, (_BASE - _TOP) * count / top)
            y -= height
            yield tag(
                "rect", x=x + gap / 2, y=y, width=max(1.0, width - gap), height=height - 0.6, class_=f"f-{colour}"
            )


def _told(scale: TimeScale, place: int, counts: dict[str, int]) -> str:
    at = scale.start + place * scale.step
    told = ", ".join(f"{number(counts[each])} {WORDS[each]}" for each in STACK if each in counts)
    return f"{at:%Y-%m-%d %H:%M} UTC: {told}"


def _failed(counts: dict[int, dict[str, int]], width: float) -> Iterator[Markup]:
    failed = {place: each["FAIL"] for place, each in counts.items() if each.get("FAIL")}
    if failed:
        yield tag("text", "failed", x=_LEFT - 8, y=_BASE + 15, text_anchor="end")
    for place, count in failed.items():
        x = _LEFT + (place + 0.5) * width
        yield tag("text", number_label(count), x=x, y=_BASE + 15, text_anchor="middle", class_="bad")


def _labels(scale: TimeScale, width: float) -> Iterator[Markup]:
    """Under every bar, or every second, and so on: as many as there is room for."""
    every = max(1, -(-46 // max(1, int(width))))
    for place in range(0, scale.spans, every):
        at = scale.start + place * scale.step
        x = _LEFT + (place + 0.5) * width
        yield tag("text", time_label(at, scale.step), x=x, y=_BASE + 31, text_anchor="middle")


_HEIGHTS: Final = {"FAIL": 18, "ABORT": 14, "RETRIED": 11, "RUNNING": 14, "OTHER": 9, "COMPLETE": 6}


def line(scale: TimeScale, spans: Sequence[SpanCount]) -> Markup:
    """The executions of one job along time: in each span the worst, the higher the worse."""
    order = list(STACK)
    marks: dict[str, list[str]] = {}
    for place, group in groupby(sorted(spans, key=lambda each: each.place), key=lambda each: each.place):
        outcome = min((_known(each.outcome) for each in group), key=order.index)
        x = LINE_WIDTH * (place + 0.5) / scale.spans - 1.5
        height = _HEIGHTS[outcome]
        marks.setdefault(outcome, []).append(f"M{x:.0f} {22 - height}h3v{height}h-3z")
    paths = [tag("path", d="".join(each), class_=f"f-{STACK[outcome]}") for outcome, each in marks.items()]
    days = "".join(f"M{LINE_WIDTH * share:.0f} 0v28" for share, _ in ticks(scale, 8))
    return _svg(LINE_WIDTH, 28, "Executions along time", tag("path", d=days, class_="grid"), paths, class_="line")


def line_axis(scale: TimeScale) -> Markup:
    """The labels above such lines."""
    labels = [tag("text", label, x=LINE_WIDTH * share + 3, y=12) for share, label in ticks(scale, 8) if share < 0.93]
    return _svg(LINE_WIDTH, 16, "Time", labels, class_="line")


def strip(results: Sequence[bool]) -> Markup:
    """Results of a test, oldest left: low is good, full is failed."""
    marks = {True: "", False: ""}
    for place, is_good in enumerate(reversed(results)):
        marks[is_good] += f"M{place * 6} {12 if is_good else 2}h4v{4 if is_good else 14}h-4z"
    paths = [tag("path", d=d, class_=f"f-{colour}") for d, colour in ((marks[True], "ok"), (marks[False], "fail")) if d]
    bad = sum(not each for each in results)
    return _svg(180, 16, f"{bad} of the last {len(results)} failed", paths, class_="strip")


class _Plot:
    """Where times and values of a volume are drawn."""

    left, right, top, bottom = 50, 354, 8, 104

    def __init__(self, points: Sequence[VolumePoint]) -> None:
        times = [each.at for each in points]
        self.scale = even_scale(times[0], times[-1], len(times))
        known = [each.value for each in points]
        known += [bound for each in points for bound in (each.lower, each.upper) if bound is not None]
        lowest, highest = min(known), max(known)
        if lowest < (highest - lowest) * 1.5:
            lowest = 0.0
        if highest - lowest < max(4.0, highest / 50):
            middle = max(4.0, highest / 50) / 2
            lowest, highest = max(0.0, lowest - middle), highest + middle
        self.grid = round_numbers(lowest, highest, 3)

    def x(self, at: datetime) -> float:
        """Of a time."""
        return self.left + 6 + (self.right - self.left - 12) * self.scale.share(at)

    def y(self, value: float) -> float:
        """Of a value."""
        low, high = self.grid[0], self.grid[-1]
        return self.bottom - (self.bottom - self.top) * (value - low) / (high - low)


def volume(line: VolumeLine) -> Markup:
    """Points in the band that was expected of them; a triangle outside points to its side."""
    plot = _Plot(line.points)
    axes: list[Content] = []
    for value in plot.grid:
        y = plot.y(value)
        axes += [
            tag("path", d=f"M{plot.left} {y:.1f}H{plot.right}", class_="axis" if value == plot.grid[0] else "grid"),
            tag("text", number_label(value), x=plot.left - 6, y=y + 4, text_anchor="end"),
        ]
    if plot.grid[0] > 0:
        axes.append(
            tag("path", d=f"M{plot.left - 4} {plot.bottom - 3}l8 -3M{plot.left - 4} {plot.bottom}l8 -3", class_="cut")
        )
    labels = [
        tag("text", label, x=plot.x(plot.scale.start) + (plot.right - plot.left - 12) * share, y=plot.bottom + 16)
        for share, label in ticks(plot.scale, 5)
        if share < 0.9
    ]
    points = [_point(plot, each, line.unit) for each in line.points]
    return _svg(360, 124, f"{line.unit} of each write", axes, list(_band(plot, line.points)), labels, points)


def _band(plot: _Plot, points: Sequence[VolumePoint]) -> Iterator[Markup]:
    for is_known, group in groupby(points, key=lambda each: each.lower is not None):
        known = list(group)
        if not is_known:
            continue
        above = [f"{plot.x(each.at):.1f} {plot.y(each.upper or 0):.1f}" for each in known]
        below = [f"{plot.x(each.at):.1f} {plot.y(each.lower or 0):.1f}" for each in known]
        middle = [f"{plot.x(each.at):.1f} {plot.y(each.centre or 0):.1f}" for each in known]
        yield tag("path", d=f"M{'L'.join(above)}L{'L'.join(reversed(below))}z", class_="band")
        yield tag("path", d=f"M{'L'.join(above)}M{'L'.join(below)}", class_="edge")
        yield tag("path", d=f"M{'L'.join(middle)}", class_="median")


def _point(plot: _Plot, each: VolumePoint, unit: str) -> Markup:
    x, y = plot.x(each.at), plot.y(each.value)
    expected = (
        ""
        if each.lower is None or each.upper is None
        else f", expected {number(round(each.lower))} to {number(round(each.upper))}"
    )
    title = tag("title", f"{each.at:%Y-%m-%d %H:%M} UTC: {number(round(each.value))} {unit}{expected}")
    if each.side:
        return tag(
            "path", title, d=f"M{x - 5:.1f} {y + 4 * each.side:.1f}h10l-5 {-8.5 * each.side:.1f}z", class_="f-fail"
        )
    return tag("circle", title, cx=round(x, 1), cy=round(y, 1), r=2.6, class_="f-ok")
