"""Clients that exist: openlineage-python as it is, curl as it is, and the commands of docs/http.md."""

from __future__ import annotations

import re
import shutil
import subprocess
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import output_statistics_output_dataset
from openlineage.client.transport.http import ApiKeyTokenProvider, HttpCompression, HttpConfig, HttpTransport

from lineagelog.store.ledgers.tokens import Tokens
from tests.findings.support import finding, kept, record
from tests.support import PATIENCE, ROOT

from .client import LINEAGE, count, encoded, rows

if TYPE_CHECKING:
    from pathlib import Path

    from lineagelog.store import LogStore

    from .conftest import Serve

RUN_ID = "0197b7a0-0000-7000-8000-000000000001"
needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")


def emit(client: OpenLineageClient, state: RunState, minute: int) -> None:
    statistics = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(rowCount=42)
    output = OutputDataset(namespace="db", name="orders", outputFacets={"outputStatistics": statistics})
    client.emit(
        RunEvent(
            eventType=state,
            eventTime=datetime(2026, 3, 2, 10, minute, tzinfo=UTC).isoformat(),
            run=Run(runId=RUN_ID),
            job=Job(namespace="shop", name="load_orders"),
            producer="https://example.org/tests",
            outputs=[output],
        )
    )


@pytest.mark.parametrize("endpoint", ["api/v1/lineage", "openapi/openlineage/api/v1/lineage", "v1/openlineage/"])
def test_openlineage_python_client(serve: Serve, store: LogStore, endpoint: str) -> None:
    """Its http transport with gzip and an api key, unmodified."""
    token, _ = Tokens(store.database).create("airflow", ["ingest"])
    config = HttpConfig(
        url=serve(tokens=Tokens(store.database)),
        endpoint=endpoint,
        auth=ApiKeyTokenProvider({"apiKey": token}),
        compression=HttpCompression.GZIP,
    )
    client = OpenLineageClient(transport=HttpTransport(config))
    emit(client, RunState.START, 0)
    emit(client, RunState.COMPLETE, 5)
    client.close()
    assert rows(store, "SELECT run_id, status, end_time - start_time = '5 min' FROM {ol_run}") == [
        (RUN_ID, "COMPLETE", True)
    ]
    assert rows(store, "SELECT dataset_name, row_count FROM {ol_run_dataset}") == [("orders", 42)]


def curl(*arguments: str, data: bytes | None = None) -> str:
    command = ["curl", "-sS", "-w", "\n%{http_code}", *arguments]
    return subprocess.run(command, input=data, capture_output=True, check=True, timeout=PATIENCE).stdout.decode()


@needs_curl
def test_plain_curl(store: LogStore, url: str, tmp_path: Path) -> None:
    """-d, --data-binary from a file, chunked from a pipe, and a body large enough for Expect: 100-continue."""
    assert curl(url + LINEAGE, "-d", encoded(0).decode()) == '{"status":"stored"}\n201'
    file = tmp_path / "event.json"
    file.write_bytes(encoded(1, producer="p" * 3_000_000))
    assert curl(url + LINEAGE, "--data-binary", f"@{file}").endswith("\n201")
    assert curl(url + LINEAGE, "-T", "-", "-X", "POST", data=encoded(2)).endswith("\n201")
    assert curl(url + LINEAGE, "-d", "nonsense").endswith("\n400")
    assert count(store) == 3


@needs_curl
def test_commands_of_the_documentation(store: LogStore, url: str) -> None:
    """Every command of docs/http.md runs and answers without an error."""
    text = (ROOT / "docs" / "http.md").read_text()
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    record(store, 0, 5, finding("a", 2))
    (known,) = kept(store).values()
    outputs = []
    for block in blocks:
        script = block.replace("http://127.0.0.1:5000", url).replace("curl -sS", "curl -sS --fail")
        script = script.replace("findings/ID", f"findings/{known.finding_id}")
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script], capture_output=True, check=False, timeout=PATIENCE
        )
        assert (done.returncode, done.stderr) == (0, b"")
        outputs.append(done.stdout.decode())
    assert outputs[0] == '{"status":"stored"}'
    assert outputs[1] == ""
    assert '"run_id":"r-1"' in outputs[2]
    assert '"event_count":3' in outputs[2]
    assert '"job_name":"load_orders"' in outputs[3]
    assert '"analysis":"lineage_drift"' in outputs[4]
    assert '"status":"SUPPRESSED"' in outputs[5]
    assert "lineagelog_events_total" in outputs[6]
    assert rows(store, "SELECT status FROM {ol_run} ORDER BY run_id") == [("COMPLETE",), ("FAIL",)]
