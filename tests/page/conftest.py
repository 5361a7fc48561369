"""A served page over the example day, and a browser to look at it."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any

import pytest

from lineagelog.read import Reader
from lineagelog.server import create_app
from tests.report.browser import Browser
from tests.server.client import BATCH, request
from tests.server.conftest import served
from tests.support import ROOT, run_here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from lineagelog.store import LogStore

    type Serve = Callable[..., str]


@pytest.fixture
def serve(store: LogStore) -> Iterator[Serve]:
    """Start a server with the page over the store; gives its URL."""
    with contextlib.ExitStack() as stack:

        def start(**options: Any) -> str:
            app = create_app(store, reader=Reader(store.database), page=True, **options)
            return stack.enter_context(served(app)).url

        yield start


@pytest.fixture
def examples(store: LogStore, store_url: str, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a page over the example day, with its findings."""
    url = serve()
    for file in sorted((ROOT / "examples").glob("*.ndjson")):
        assert request(url, BATCH, file.read_bytes()).status == 204
    monkeypatch.setenv("LINEAGELOG_DATABASE", store_url)
    monkeypatch.setenv("LINEAGELOG_SCHEMA", store.database.schema)
    window = ("--since", "2026-11-14", "--until", "2026-11-21")
    assert run_here("analyse", "orphan_dataset", "failed_then_succeeded", "--record", *window).code == 0
    return url


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    """With a page of its own."""
    with Browser(tmp_path / "profile") as browser:
        yield browser


def views(url: str) -> dict[str, str]:
    """A path of each view over the example day."""
    failed = json.loads(request(url, "/api/v1/executions?state=failed&limit=1").body)["items"][0]
    return {
        "now": "/",
        "jobs": "/jobs",
        "job": "/job/airflow-kestrel/stock_sync.copy_stock",
        "run": f"/run/{failed['run_id']}",
        "datasets": "/datasets",
        "dataset": "/dataset/s3%3A%2F%2Fkestrel-lake/landing%2Forders",
        "lineage": "/lineage/dataset/s3%3A%2F%2Fkestrel-lake/landing%2Forders?up=2&down=6",
        "start": "/lineage",
        "findings": "/findings",
        "search": "/search?q=revenue",
    }
