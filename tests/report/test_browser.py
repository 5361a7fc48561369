"""The report in a real browser: it opens, asks for nothing, complains of nothing, and can be used."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lineagelog.report.page import page
from tests.support import ROOT, run_here

from .browser import CHROMIUM, Browser
from .support import job, report

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.long, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")]

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    """With a page of its own."""
    with Browser(tmp_path / "profile") as browser:
        yield browser


@pytest.fixture
def examples(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of the report of the examples."""
    monkeypatch.setenv("LINEAGELOG_DATABASE", database_url)
    out = tmp_path / "report.html"
    assert run_here("load", str(ROOT / "examples")).code == 0
    assert run_here("report", "--out", str(out), "--since", "2026-11-20", "--until", "2026-11-21").code == 0
    return out.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_report_of_the_examples_opens_and_asks_for_nothing(browser: Browser, examples: str, scheme: str) -> None:
    """No request but for the file itself, no complaint; it is as wide as the window, in the colours that are wanted."""
    browser.open(examples, scheme=scheme)
    assert [each for each in browser.requests if not each.startswith("data:")] == [examples]
    assert browser.complaints == []
    assert browser.evaluate("document.documentElement.scrollWidth") == 1280
    assert browser.evaluate("document.querySelectorAll('#all-jobs tbody tr').length") == 23
    red, green, blue = browser.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (red + green + blue > 600) is (scheme == "light")
    assert browser.picture().startswith(PNG)
    # no word is cut or covered in the figures and the heads of tables
    cut = "Array.from(document.querySelectorAll('.figures div, th')).filter(e => e.scrollWidth > e.clientWidth + 1)"
    assert browser.evaluate(f"{cut}.map(e => e.textContent)") == []


def test_on_a_telephone_nothing_is_beside_the_page(browser: Browser, examples: str) -> None:
    """It never scrolls sideways."""
    browser.open(examples, width=390)
    assert browser.evaluate("document.documentElement.scrollWidth") == 390


def test_tables_are_sorted_and_filtered(browser: Browser, tmp_path: Path) -> None:
    """By a click on a head, by what is typed; numbers as numbers."""
    jobs = [job(each, executions=each * 7, last_error="no space" if each == 3 else None) for each in range(1, 6)]
    file = tmp_path / "r.html"
    file.write_text(page(report(*jobs)), encoding="utf-8")
    browser.open(file.as_uri())
    runs = "Array.from(document.querySelectorAll('#all-jobs tbody tr:not([hidden])'), r => r.cells[3].textContent)"
    head = "document.querySelectorAll('#all-jobs th button')[3].click()"
    browser.evaluate(head)
    assert browser.evaluate(runs) == ["7", "14", "21", "28", "35"]
    browser.evaluate(head)
    assert browser.evaluate(runs) == ["35", "28", "21", "14", "7"]
    browser.evaluate(
        "const f = document.querySelector('input[data-filter=all-jobs]'); f.value = 'Space 00003';"
        "f.dispatchEvent(new Event('input'))"
    )
    assert browser.evaluate(runs) == ["21"]
    assert browser.evaluate("document.querySelector('output').textContent") == "1 of 5 jobs"
    assert browser.complaints == []


def test_hostile_names_do_nothing(browser: Browser, tmp_path: Path) -> None:
    """They are read as they are spelled."""
    evil = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>\u202e"
    file = tmp_path / "r.html"
    file.write_text(page(report(job(1, name=evil, namespace=evil, last_error=evil))), encoding="utf-8")
    browser.open(file.as_uri())
    assert browser.evaluate("document.title") == "A week · lineagelog"
    assert browser.evaluate("document.querySelectorAll('img, script').length") == 1
    assert browser.evaluate("document.querySelector('#all-jobs bdi').title").startswith("<img src=x onerror=")
    assert browser.complaints == []


def test_what_is_not_ours_is_not_run_or_loaded(browser: Browser, tmp_path: Path) -> None:
    """Were markup of others in the page all the same: the policy holds it back, and the browser says so."""
    file = tmp_path / "r.html"
    smuggled = "<script>document.title='taken'</script><img src='http://127.0.0.1:9/x'></body>"
    file.write_text(page(report(job(1))).replace("</body>", smuggled), encoding="utf-8")
    browser.open(file.as_uri())
    assert browser.evaluate("document.title") == "A week · lineagelog"
    assert len([each for each in browser.complaints if "Content Security Policy" in each]) == 2
