"""The page in a real browser: every view opens, complains of nothing, can be used by hands, keys and screen readers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import axe_core_python
import pytest

from tests.report.browser import CHROMIUM
from tests.server.client import BATCH, request
from tests.support import event, wait_until

from .conftest import views

if TYPE_CHECKING:
    from tests.report.browser import Browser

    from .conftest import Serve

pytestmark = [pytest.mark.long, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")]

AXE = Path(axe_core_python.__file__).with_name("axe.min.js")
DRAWN = "document.querySelectorAll('#nodes > g').length"
PNG = b"\x89PNG\r\n\x1a\n"


def awaited(browser: Browser, expression: str) -> Any:
    """The value that a promise comes to."""
    told = browser.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
    assert "exceptionDetails" not in told, told
    return told["result"].get("value")


def opened(browser: Browser, url: str, **options: Any) -> None:
    """Open it, and wait until what is drawn is there."""
    browser.open(url, **options)
    if "/lineage/" in url:
        wait_until(lambda: browser.evaluate(DRAWN) > 0)
    wait_until(lambda: browser.evaluate("[...document.querySelectorAll('[data-chart]')].every(c => c.children.length)"))


def press(browser: Browser, key: str, *, modifiers: int = 0) -> None:
    for kind in ("keyDown", "keyUp"):
        text = {"text": key} if len(key) == 1 and kind == "keyDown" else {}
        browser.call("Input.dispatchKeyEvent", type=kind, key=key, modifiers=modifiers, **text)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_opens_and_complains_of_nothing(browser: Browser, examples: str, scheme: str) -> None:
    """No message, no breach of the policy, no request to others, none that is serious to axe; as wide as the window."""
    for name, path in views(examples).items():
        for width in (1280, 390):
            opened(browser, examples + path, scheme=scheme, width=width)
            assert browser.evaluate("document.documentElement.scrollWidth") == width, (name, width)
            assert browser.picture().startswith(PNG)
            browser.evaluate(AXE.read_text(encoding="utf-8") + ";1")
            found = awaited(browser, "axe.run().then(r => JSON.stringify(r.violations))")
            serious = [
                (each["id"], [node["html"][:200] for node in each["nodes"][:3]])
                for each in json.loads(found)
                if each["impact"] in ("serious", "critical")
            ]
            assert (name, width, serious) == (name, width, [])
    assert browser.complaints == []
    assert [each for each in browser.requests if not each.startswith(examples)] == []


def test_a_new_person_finds_what_failed_why_and_what_is_downstream(browser: Browser, examples: str) -> None:
    """From the first page: the failing job, its error, the last good run, the difference, what lies below."""
    opened(browser, examples)
    ways = "[...document.querySelectorAll('#p-failed .ways a')].map(a => a.textContent.trim().split(/[ ,]/)[0])"
    assert browser.evaluate(ways)[:3] == ["Error", "Last", "Difference"]
    difference = browser.evaluate("document.querySelectorAll('#p-failed .ways a')[2].getAttribute('href')")
    opened(browser, examples + difference)
    assert "1 of 2 tests" in browser.evaluate("document.querySelector('#error').textContent")
    assert "Outcome" in browser.evaluate("document.querySelector('#difference').textContent")
    assert browser.complaints == []


def test_the_graph_is_expanded_locked_and_shown_as_a_table(browser: Browser, examples: str) -> None:
    """A hop more moves nothing else; the address holds what is seen; the same as a table."""
    path = views(examples)["lineage"].partition("?")[0]
    opened(browser, examples + path)
    assert browser.evaluate(DRAWN) == 3
    places = (
        "JSON.stringify([...document.querySelectorAll('#nodes > g')].slice(0, 3).map(g => g.getAttribute('transform')))"
    )
    before, view = (
        browser.evaluate(places),
        browser.evaluate("document.querySelector('#world').getAttribute('transform')"),
    )
    clicked = (
        "document.querySelector('#nodes [data-side=down]').dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    browser.evaluate(clicked)
    wait_until(lambda: browser.evaluate(DRAWN) > 3)
    assert browser.evaluate(places) == before
    assert browser.evaluate("document.querySelector('#world').getAttribute('transform')") == view
    assert "open=" in browser.evaluate("location.search")
    browser.evaluate("document.querySelector('#p-lock').click()")
    assert "lock=" in browser.evaluate("location.search")
    opened(browser, examples + path + browser.evaluate("location.search"))
    wait_until(lambda: browser.evaluate(DRAWN) > 3)
    browser.evaluate("document.querySelector('[data-g=table]').click()")
    assert browser.evaluate("document.querySelectorAll('#rows tr').length") == browser.evaluate(DRAWN)
    deep = "d = document.querySelector('#down'); d.value = 9; d.dispatchEvent(new Event('change'))"
    browser.evaluate(deep)
    wait_until(lambda: browser.evaluate(DRAWN) > 8)
    assert "down=9" in browser.evaluate("location.search")
    assert browser.complaints == []


def test_search_by_keys(browser: Browser, examples: str) -> None:
    """A slash, a word, down, Enter."""
    opened(browser, examples + "/jobs")
    press(browser, "/")
    wait_until(lambda: browser.evaluate("document.querySelector('#palette').open"))
    browser.call("Input.insertText", text="copy_stock")
    wait_until(lambda: browser.evaluate("document.querySelectorAll('#pal-list [role=option]').length") >= 2)
    browser.call("Input.dispatchKeyEvent", type="rawKeyDown", key="Enter", windowsVirtualKeyCode=13)
    wait_until(lambda: browser.evaluate("location.pathname") == "/job/airflow-kestrel/stock_sync.copy_stock")
    assert browser.complaints == []


def test_a_finding_is_acknowledged_and_muted(browser: Browser, examples: str) -> None:
    """By its buttons; it is told in the list."""
    opened(browser, examples + "/findings")
    count = browser.evaluate("document.querySelectorAll('#findings tbody tr').length")
    browser.evaluate("document.querySelectorAll('#findings tbody tr')[1].querySelector('a.what').click()")
    wait_until(lambda: "id=" in browser.evaluate("location.search"))
    browser.evaluate("document.querySelector('[data-open=ack]').click()")
    browser.evaluate(
        "document.querySelector('#ack [name=why]').value = 'mine'; document.querySelector('#ack .primary').click()"
    )
    wait_until(lambda: "acknowledged" in browser.evaluate("document.querySelector('#findings')?.textContent ?? ''"))
    browser.evaluate(
        "document.querySelector('[data-open=mute]').click(); document.querySelector('#mute .primary').click()"
    )
    wait_until(lambda: browser.evaluate("document.querySelectorAll('#findings tbody tr').length") == count - 1)
    assert browser.complaints == []


def test_cells_change_when_something_is_stored_and_rows_do_not_move(browser: Browser, serve: Serve) -> None:
    """The running job completes: its cell says so where it stands; a new job waits behind a button."""
    url = serve()
    assert request(url, BATCH, json.dumps([event("r1", "START"), event("r2", job={"namespace": "tests", "name": "b"})]))
    opened(browser, url + "/jobs")
    state = "document.querySelector('tbody tr .st').textContent"
    assert browser.evaluate(state) == "Running"
    wait_until(lambda: "/live" in "".join(browser.requests) or browser.evaluate("1") != 1)
    done = event("r1", "COMPLETE", eventTime="2026-03-01T09:00:00Z")
    other = event("r3", job={"namespace": "tests", "name": "c"})
    wait_until(
        lambda: request(url, BATCH, json.dumps([done, other])).status == 204 and browser.evaluate(state) == "Completed"
    )
    assert browser.evaluate("document.querySelectorAll('tbody tr').length") == 2
    wait_until(lambda: browser.evaluate("document.querySelector('#more-new').textContent") == "1 new")
    assert browser.complaints == []


def test_hostile_names_do_nothing(browser: Browser, serve: Serve) -> None:
    """In lists, the graph, the search; the title is ours and the policy has nothing to hold back."""
    url = serve()
    evil = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>\u202e\U0001f4a9"
    told = event(job={"namespace": evil, "name": evil}, outputs=[{"namespace": evil, "name": evil * 400}])
    assert request(url, BATCH, json.dumps([told])).status == 204
    key = request(url, "/api/v1/executions").json["items"][0]["job_key"]
    for path in ("/", "/jobs", "/datasets", f"/job/~/~{key}", f"/lineage/job/~/~{key}", "/search?q=onerror", "/run/r1"):
        opened(browser, url + path)
        assert browser.evaluate("document.title").endswith("· lineagelog")
        assert browser.evaluate("document.images.length") == 0
        assert browser.evaluate("document.documentElement.scrollWidth") == 1280
    assert browser.complaints == []
