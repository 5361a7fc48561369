"""The page as it is sent: what stands in it, who may see it, and that names of others do nothing in it."""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from lineagelog.server import create_app
from lineagelog.server.page import address
from lineagelog.store.ledgers.tokens import Tokens
from tests.server.client import BATCH, request
from tests.server.conftest import served
from tests.support import ROOT, event

from .conftest import views

if TYPE_CHECKING:
    from lineagelog.store import LogStore

    from .conftest import Serve

EVIL = [
    "<script>document.title='taken'</script>",
    '"><img src=x onerror=alert(1)>',
    "\u202eevil",
    "{{ 7*7 }}",
    "x" * 65_536,
]
OWN = {"Sec-Fetch-Site": "same-origin"}


def test_every_view_shows_the_example_day(examples: str) -> None:
    """Each answers with the policy, and tells what is known of the day."""
    told = {
        "now": ("37", "kestrel_shop.mart_daily_revenue.test", "Fixed by retry"),
        "jobs": ("23 of 23 shown", "stock_sync.copy_stock"),
        "job": ("8 of the last 8 ended", "landing/stock", "shop.public.stock"),
        "run": ("1 test failed", "Difference", "the last good run"),
        "datasets": ("landing/orders", "shop.public.stock"),
        "dataset": ("order_id", "shop_ingest.extract_orders", "nightly_silver.clean_orders"),
        "lineage": ("graph.js", "landing/orders"),
        "start": ("Most connected",),
        "findings": ("Orphan dataset", "Acknowledge"),
        "search": ("kestrel_shop.mart_daily_revenue", "NUMERIC"),
    }
    for name, path in views(examples).items():
        answer = request(examples, path)
        assert (name, answer.status) == (name, 200)
        assert "script-src 'self'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
        text = re.sub(r"<[^>]*>", "", html.unescape(answer.body.decode()).replace("\u202f", ""))
        for words in told[name]:
            assert words in text or words in html.unescape(answer.body.decode()), (name, words)


def test_a_failure_that_a_retry_made_good_is_not_among_the_failing(examples: str) -> None:
    """The run of its failed attempt says that a later one completed."""
    failing = request(examples, "/jobs?state=failed").body.decode()
    assert "extract_payments" not in failing
    (fixed,) = [each for each in request(examples, "/api/v1/executions").json["items"] if each["state"] == "fixed"]
    attempt = request(examples, f"/run/{fixed['earlier_run_ids'][0]}").body.decode()
    assert "a later one completed" in attempt


def test_the_difference_to_another_run(examples: str) -> None:
    """Amounts, sets of datasets, outcome and duration, with the run that is named."""
    runs = request(examples, "/api/v1/executions?job=stock_sync.copy_stock&namespace=airflow-kestrel").json["items"]
    path = f"/run/{runs[0]['run_id']}?compare={runs[1]['run_id']}"
    assert "Output, amount" in request(examples, path).body.decode()
    assert request(examples, f"/run/{runs[0]['run_id']}?compare=nobody").status == 404


def test_what_there_is_not(examples: str) -> None:
    """404 with words for people; a bad parameter 400; files and the stream are there."""
    for path in ("/job/x/y", "/dataset/x/y", "/run/nobody", "/lineage/job/x/y", "/dataset/~/~nokey"):
        answer = request(examples, path)
        assert (answer.status, b"Try again" in answer.body) == (404, True)
    assert request(examples, "/jobs?after=nonsense").status == 400
    assert request(examples, "/?until=yesterday").status == 400
    page = request(examples, "/").body.decode()
    for file in {*re.findall(r'(?:src|href)="(/static/[^"#]+)', page)}:
        answer = request(examples, file)
        assert (answer.status, "immutable" in answer.headers["cache-control"]) == (200, True)
    assert request(examples, "/static/other/app.js").headers["cache-control"] == "no-store"
    assert request(examples, "/static/other/..%2fnow.py").status == 404


def test_without_the_page_there_is_nothing_at_the_root(store: LogStore) -> None:
    """The setting server.page."""
    with served(create_app(store)) as server:
        assert request(server.url, "/").status == 404


@pytest.mark.parametrize("name", EVIL, ids=["markup", "attribute", "direction", "template", "64 KiB"])
def test_names_of_others_are_text(serve: Serve, name: str) -> None:
    """In every view that shows them; an address of each leads to it, a long one's by its key."""
    url = serve()
    facets = {"schema": {"fields": [{"name": name[:500], "type": name[:50]}]}}
    told = event(
        run_id=name[:400],
        event_type="FAIL",
        job={"namespace": name, "name": name},
        outputs=[{"namespace": name, "name": name, "facets": facets}],
    )
    told["run"]["facets"] = {"errorMessage": {"message": name, "programmingLanguage": "x"}}
    assert request(url, BATCH, json.dumps([told])).status == 204
    paths = [
        *("/", "/jobs", "/datasets", "/lineage", "/findings", f"/search?q={quote(name[:200])}"),
        *(address.job(name, name), address.dataset(name, name), address.run(name[:400])),
        address.lineage("dataset", name, name),
    ]
    for path in paths:
        answer = request(url, path)
        text = re.sub('(value|data-copy)="[^"]*"', "", answer.body.decode())  # what the reader typed stays as it is
        assert (path[:60], answer.status) == (path[:60], 200)
        assert len(text) < 600_000
        for tag in ("<script>document", "<img src=x", "\u202e", "49 "):
            assert tag not in text, path


def test_signing_in_with_a_token(store: LogStore, serve: Serve) -> None:
    """The page asks for one, keeps it in a cookie that no script reads, and goes where it was to go."""
    token, _ = Tokens(store.database).create("reader", ["read"])
    ingest, _ = Tokens(store.database).create("sender", ["ingest"])
    url = serve(tokens=Tokens(store.database))
    asked = request(url, "/jobs?state=failed")
    assert (asked.status, 'value="/jobs?state=failed"' in html.unescape(asked.body.decode())) == (401, True)
    form = {"Content-Type": "application/x-www-form-urlencoded", **OWN}
    wrong = request(url, "/sign-in", f"token={ingest}&next=/jobs", headers=form)
    assert (wrong.status, "set-cookie" in wrong.headers) == (403, False)
    right = request(url, "/sign-in", f"token={token}&next=/jobs", headers=form)
    assert (right.status, right.headers["location"]) == (303, "/jobs")
    cookie = right.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    kept = {"Cookie": cookie.partition(";")[0]}
    assert request(url, "/jobs", headers=kept).status == 200
    assert request(url, "/api/v1/graph?name=x", headers=kept).status == 404
    for place in ("//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)"):
        assert request(url, "/sign-in", f"token={token}&next={quote(place)}", headers=form).headers["location"] == "/"
    out = request(url, "/sign-out", "", headers=form | kept)
    assert (out.status, "Max-Age=0" in out.headers["set-cookie"]) == (303, True)


def test_other_sites_say_nothing_with_a_cookie(store: LogStore, serve: Serve) -> None:
    """What is said of findings, signing in and out come from our own pages; a cookie sends no events."""
    token, _ = Tokens(store.database).create("admin", ["admin"])
    url = serve(tokens=Tokens(store.database))
    kept = {"Cookie": f"lineagelog_token={token}"}
    path = "/api/v1/findings/00000000-0000-0000-0000-000000000000/acknowledge"
    assert request(url, path, "{}", headers=kept | OWN).status == 404
    assert request(url, path, "{}", headers=kept | {"Origin": url}).status == 404
    for foreign in (
        {},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
    ):
        assert request(url, path, "{}", headers=kept | foreign).status == 403
        assert request(url, "/sign-in", f"token={token}", headers=foreign).status == 403
    assert request(url, path, "{}", headers={"Authorization": f"Bearer {token}"}).status == 404
    assert request(url, BATCH, json.dumps([event()]), headers=kept | OWN).status == 401


def test_a_bound_token_sees_its_own_in_every_view(store: LogStore, serve: Serve) -> None:
    """No job of others in any view, list, count or search; of a shared dataset how many more jobs there are."""
    token, _ = Tokens(store.database).create("t", ["read"], namespaces=["airflow-kestrel"])
    everything, _ = Tokens(store.database).create("all", ["admin"])
    url = serve(tokens=Tokens(store.database))
    whole = {"Authorization": f"Bearer {everything}"}
    for file in sorted((ROOT / "examples").glob("*.ndjson")):
        assert request(url, BATCH, file.read_bytes(), headers=whole).status == 204
    mine = {"Authorization": f"Bearer {token}"}
    paths = ["/", "/jobs", "/datasets", "/lineage", "/findings", "/search?q=e", "/search?q=kestrel"]
    paths += ["/dataset/s3%3A%2F%2Fkestrel-lake/landing%2Forders", "/job/airflow-kestrel/shop_ingest.extract_orders"]
    for path in paths:
        answer = request(url, path, headers=mine)
        assert (path, answer.status) == (path, 200)
        for other in ("nightly_silver", "kestrel_shop", "dbt-kestrel", "spark-kestrel", "dwh.mart", "dwh.silver"):
            assert other not in answer.body.decode(), (path, other)
    assert "1 more jobs not yours to see" in request(url, paths[-2], headers=mine).body.decode()
    assert request(url, "/job/dbt-kestrel/kestrel_shop.fct_orders", headers=mine).status == 404
    assert (
        request(url, address.dataset("postgres://dwh.kestrel.example:5432", "dwh.mart.fct_orders"), headers=mine).status
        == 404
    )


def test_credentials_are_not_shown(serve: Serve) -> None:
    """In names, errors and raw events; such a name is known by its key."""
    url = serve()
    name = "postgres://user:hunter2@db/x"
    told = event(event_type="FAIL", job={"namespace": "n", "name": name}, outputs=[{"namespace": name, "name": "y"}])
    told["run"]["facets"] = {"errorMessage": {"message": f"cannot reach {name}"}}
    assert request(url, BATCH, json.dumps([told])).status == 204
    for path in ("/", "/jobs", "/datasets", address.job("n", name), address.dataset(name, "y"), "/run/r1"):
        answer = request(url, path)
        assert (path, answer.status) == (path, 200)
        assert b"hunter2" not in answer.body, path
