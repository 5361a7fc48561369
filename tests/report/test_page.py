"""The document that a report becomes: whole, harmless, small."""

from __future__ import annotations

import re
from base64 import b64encode
from datetime import timedelta
from hashlib import sha256
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineagelog.analysis import Severity, Subject
from lineagelog.report.axes import number_label, round_numbers, round_scale, step_words, ticks
from lineagelog.report.graph import layout
from lineagelog.report.markup import name, safe, short, tag
from lineagelog.report.model import (
    DRAWN,
    Blast,
    BlastStep,
    JobStanding,
    ReportContent,
    ResultLine,
    VolumeLine,
    VolumePoint,
)
from lineagelog.report.page import page

from .support import END, START, finding, job, report

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</title></style><!--",
    "\u202egnp.exe",
    "👩‍👩‍👧 emoji",
    "a\x00b\x1b[31m",
    "x" * 65536,
    "'` onload=alert(1) x='",
    "{{7*7}} ${7*7} &lt;b&gt;",
)


class Tags(HTMLParser):
    """All elements of a document and their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note it."""
        self.found.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "col", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """It closes what was opened last."""
        assert self.open.pop() == tag


def full(text: str) -> ReportContent:
    """A report that has the text in each place where a text of others can be."""
    subject = Subject("test", text, text, text, text)
    points = [VolumePoint(START + timedelta(days=each), 10.0 * each, 5, 20, 40) for each in range(5)]
    found = finding(text, subject=subject, explanation=text, observed=text, expected=text, change=text)
    test = ResultLine(
        kind="dataset", namespace=text, name=text, column_name=text, test=text, n=2, failed=1, latest=[False, True],
        failed_at=END, severity=text, expected=text, actual=text,
    )  # fmt: skip
    return report(
        job(1, name=text, namespace=text, last_outcome="FAIL", failed=1, last_error=text),
        title=text,
        findings=[found] * 9,
        tests=[test],
        tests_known=1,
        volumes=[VolumeLine(namespace=text, name=text, job=text, unit="rows", points=points, finding=found)],
        volumes_known=1,
        blast=Blast(
            text,
            [BlastStep(1, text, f"{text}/a", text, 1, other_version=True), BlastStep(2, "j", text, None, 1, False)],
        ),
        stopped=[text],
    )


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_texts_of_others_are_harmless_wherever_they_stand(text: str) -> None:
    """They become no element, no attribute, and obey no direction; nothing that the page has is missing for it."""
    document = page(full(text))
    tags = Tags(document)
    assert not tags.open
    plain = Tags(page(full("plain and rather long to be cut")))
    assert [tag for tag, _ in tags.found] == [tag for tag, _ in plain.found]
    assert not [key for _, given in tags.found for key in given if key.startswith("on") or key in ("style", "src")]
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", document)


@given(st.text(max_size=60))
def test_any_text_is_text(text: str) -> None:
    """In an element and in a title."""
    tags = Tags(tag("p", text, name(text), title=text))
    assert [each for each, _ in tags.found] == ["p", "bdi"]


def test_nothing_is_loaded_and_only_what_is_in_the_page_may_run() -> None:
    """The policy names the hashes of the one style and the one script; no address leads out."""
    document = page(full("x"))
    policy = next(given["content"] or "" for tag, given in Tags(document).found if "Content-Security" in str(given))
    (style,), (script,) = (re.findall(f"<{tag}>(.*?)</{tag}>", document, re.DOTALL) for tag in ("style", "script"))
    for kind, text in (("style", style), ("script", script)):
        assert f"{kind}-src 'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" in policy
    assert "default-src 'none'" in policy
    addresses = [value for _, given in Tags(document).found for key, value in given.items() if key in ("href", "src")]
    assert all((each or "").startswith(("#", "data:")) for each in addresses)
    assert not re.search(r"https?:|url\(|@import", style + script)


def test_ten_thousand_jobs_fit_and_the_worst_are_drawn() -> None:
    """In 20 MB, each of them in the table; two hundred have a time line, the failing ones first."""
    jobs = [
        job(each, last_outcome="FAIL" if each % 50 == 0 else "COMPLETE", last_error="boom " * 20)
        for each in range(10_000)
    ]
    told = report(*jobs)
    drawn = {each.job_key: told.lines[each.job_key] for each in told.jobs[:DRAWN]}
    document = page(report(*jobs, lines=drawn))
    assert len(document.encode()) <= 20_000_000
    assert document.count('class="line"><path') == DRAWN
    table = document[document.index('id="all-jobs"') :]
    assert table.count("<tr") == 10_001
    assert "worst 200 of 10,000 jobs" in document
    assert [each.state for each in told.jobs[:DRAWN]] == [JobStanding.FAILING] * DRAWN


def test_an_empty_report_says_why_and_what_to_do() -> None:
    """No part is missing, none is blank."""
    document = page(ReportContent(title="Nothing", start=None, end=END, as_of=END))
    for said in ("No job ran in this window", "Nothing found", "No test reported", "the beginning", "--since"):
        assert said.replace("Nothing found", "nothing was found") in document, said
    assert "None" not in re.sub("<style>.*</style>", "", document, flags=re.DOTALL)


def test_what_was_stopped_is_said() -> None:
    """At the top, in its own words."""
    document = page(report(job(1), stopped=["late_run was stopped after 300 s: take a shorter window"]))
    assert "1 part of this report could not be read in time" in document
    assert "late_run was stopped after 300 s" in document


def test_states_are_what_happened_last_and_what_did_not() -> None:
    """A job that should have run is there though it did not; a late one that ran since is well."""
    missing = {"analysis": "late_run", "change": "missing", "last_seen": END - timedelta(days=1)}
    found = [
        finding("nightly.gone", **missing),
        finding("nightly.load_table_00001", **missing),
        finding("nightly.load_table_00002", analysis="stuck_run", change="stuck"),
        finding("nightly.load_table_00003", analysis="stuck_run", change="stuck"),
    ]
    told = report(job(1), job(2, last_outcome="RUNNING"), job(3), job(4, last_outcome="ABORT"), findings=found)
    assert [(each.name[-5:], each.state) for each in told.jobs] == [
        ("00002", JobStanding.STUCK),
        (".gone", JobStanding.LATE),
        ("00004", JobStanding.ABORTED),
        ("00001", JobStanding.COMPLETED),
        ("00003", JobStanding.COMPLETED),
    ]


def test_severe_findings_come_before_failing_jobs_and_these_before_the_rest() -> None:
    """What is looked at first."""
    found = [finding("severe"), finding("mild", severity=Severity.LOW)]
    document = page(report(job(1, last_outcome="FAIL", last_error="out of disk"), findings=found))
    first = document[document.index('id="findings"') : document.index('id="executions"')]
    assert first.index("severe failed") < first.index("out of disk") < first.index("mild failed")


def test_a_volume_outside_its_band_points_to_its_side() -> None:
    """Up above it, down below it; without a band it is a point."""
    points = [VolumePoint(START, 50, 10, 20, 40), VolumePoint(END, 5, 10, 20, 40), VolumePoint(END, 20)]
    assert [each.side for each in points] == [1, -1, 0]
    document = page(report(volumes=[VolumeLine(namespace="", name="d", job="j", unit="rows", points=points)]))
    card = document[document.index('class="card"') :]
    assert card.count("M", 0, card.index("</section>")) > 3
    assert "50 rows, expected 10 to 40" in card


def test_the_graph_has_each_thing_once_and_hides_no_number() -> None:
    """Jobs between datasets; of a column that is too long the rest is one box with its number."""
    steps = [BlastStep(1, f"job{each}", "start", f"out{each}", 1, other_version=False) for each in range(30)]
    laid = layout(Blast("bad", steps))
    assert sum(node.hidden or 1 for node in laid.nodes) == 61
    assert {node.column for node in laid.nodes} == {0, 1, 2}
    assert len(laid.edges) == 9 + 9
    cycle = layout(Blast("bad", [BlastStep(1, "a", "start", "b", 1, False), BlastStep(2, "c", "b", "start", 1, False)]))
    assert len(cycle.nodes) == 4


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (timedelta(hours=20), "hour"),
        (timedelta(days=7), "6 hours"),
        (timedelta(days=30), "day"),
        (timedelta(0), "minute"),
    ],
)
def test_spans_are_round_and_hold_the_window(length: timedelta, words: str) -> None:
    """Few enough to be told apart."""
    scale = round_scale(START, START + length, 33)
    assert step_words(scale.step) == words
    assert scale.start <= START <= START + length < scale.end
    assert scale.spans <= 33
    assert all(0 <= share < 1 for share, _ in ticks(scale, 8))


@given(st.floats(-1e15, 1e15), st.floats(0, 1e15))
def test_axes_hold_their_values(lowest: float, span: float) -> None:
    """From below the lowest to above the highest, in few steps."""
    grid = round_numbers(lowest, lowest + span, 4)
    slack = 1e-6 * max(abs(lowest), span, 1)
    assert grid[0] <= lowest + slack
    assert grid[-1] >= lowest + span - slack
    assert 2 <= len(grid) <= 8


def test_figures_and_names_for_people() -> None:
    """Short, and nothing lost that a title does not have."""
    assert [number_label(each) for each in (0.0, 950.0, 12500.0, 3.2e6)] == ["0", "950", "12.5\u202fk", "3.2\u202fM"]
    assert short("a" * 100, 11) == "aaaaaa…aaaa"
    assert safe("a b ") == "a b "
    assert 'title="' + "n" * 65536 in name("n" * 65536)
