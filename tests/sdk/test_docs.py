"""The examples of docs/sdk.md and of the README run as they stand, in order, and tell lineage."""

from __future__ import annotations

import inspect
import re
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lineagelog import sdk
from lineagelog.sdk.config import SdkConfig
from lineagelog.sdk.transport import BatchConfig, SpoolConfig
from tests.specification import validate
from tests.support import PATIENCE

if TYPE_CHECKING:
    from .conftest import Backend, Memory

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "sdk.md").read_text()
PYTHON = [
    block
    for text in (PAGE, (ROOT / "README.md").read_text())
    for block in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    if "lineagelog.sdk" in block
]

SETTINGS = {
    "wait",
    "exit_timeout",
    "lookup_timeout",
    "batch_size",
    "batch_bytes",
    "flush_interval",
    "queue_size",
    "max_bytes",
    "fsync",
}


def run(block: str) -> None:
    """Run an example, and close the connections that it leaves open."""
    namespace: dict[str, Any] = {}
    exec(compile(block, "docs/sdk.md", "exec"), namespace)
    for value in namespace.values():
        if isinstance(value, sqlite3.Connection):
            value.close()


@pytest.mark.parametrize("block", PYTHON, ids=[str(number) for number in range(len(PYTHON))])
def test_an_example_runs(block: str, memory: Memory) -> None:
    """What it emits is valid; all runs end well. (The one about `configure` emits nothing.)"""
    run(block)
    assert bool(memory.events) == ("configure(" not in block)
    for event in memory.events:
        validate(event)
        assert event["eventType"] in ("START", "COMPLETE")


def test_the_quick_start_reaches_a_backend(backend: Backend) -> None:
    """The configuration as shown, with the address of a backend that is there."""
    config = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)[0]
    Path("openlineage.yml").write_text(config.replace("http://127.0.0.1:5000", backend.url))
    sdk.configure()
    run(PYTHON[0])
    assert sdk.flush(PATIENCE)
    assert backend.names() == [("daily_revenue", "START"), ("daily_revenue", "COMPLETE")]
    output = backend.events[1]["outputs"][0]
    assert [field["name"] for field in output["facets"]["schema"]["fields"]] == ["total"]
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 1


def test_the_page_names_every_setting() -> None:
    """Parameters, settings and methods that are there are described, and their defaults are right."""
    for name in inspect.signature(sdk.lineage_run.__init__).parameters:
        assert name == "self" or f"`{name}`" in PAGE, name
    for function in (sdk.lineage_from_sql, sdk.emit_lineage):
        for name in inspect.signature(function).parameters:
            assert f"`{name}`" in PAGE, name
    for name in ("add_input", "add_output", "row_count", "add_run_facet", "running", "environment"):
        assert f"`run.{name}(" in PAGE, name
    for config in (SdkConfig(), BatchConfig(url="http://x"), SpoolConfig({}, "x")):
        for name in SETTINGS & set(dir(config)):
            default = getattr(config, name)
            shown = f"{int(default)}" if default == int(default) else f"{default}"
            assert re.search(rf"`{name}`.*\|.*\b{shown}\b" if default is not False else rf"`{name}` \| false", PAGE), (
                name
            )
