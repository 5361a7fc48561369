"""Alerts and dashboard: Debian's promtool and Prometheus take them as they are, and ask a real server for all of it."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import socket
import subprocess
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
import yaml

from tests.support import PATIENCE, ROOT, serve_process, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from lineagelog.store import LogStore

FOLDER = ROOT / "config" / "prometheus"
RULES = yaml.safe_load((FOLDER / "alerts.yml").read_text(encoding="utf-8"))["groups"][0]["rules"]
DASHBOARD = json.loads((ROOT / "config" / "grafana" / "lineagelog.json").read_text(encoding="utf-8"))
HOURS = 4

needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed (prometheus)")
needs_prometheus = pytest.mark.skipif(shutil.which("prometheus") is None, reason="prometheus is not installed")

BAD = {
    'up{job="lineagelog", instance="a"}': "0x300",
    'lineagelog_append_failures_total{instance="a", error="StoreUnavailable"}': "0+1x300",
    'lineagelog_queue_events{instance="a"}': "15000x300",
    'lineagelog_append_seconds_bucket{instance="a", le="5"}': "0+1x300",
    'lineagelog_append_seconds_bucket{instance="a", le="2"}': "0x300",
    'lineagelog_append_seconds_bucket{instance="a", le="+Inf"}': "0+1x300",
    'lineagelog_dead_letters_total{source="http", reason="not_json"}': "0+1x300",
    'lineagelog_events_total{source="http", verdict="stored"}': "0 100x300",
    'lineagelog_forward_failing{target="t"}': "1x300",
    'lineagelog_forward_lag_seconds{target="t"}': "7200x300",
    'lineagelog_forward_parked{target="t"}': "1x300",
    'lineagelog_forward_gap{target="t"}': "1x300",
    'lineagelog_kafka_waiting{instance="a"}': "1x300",
    'lineagelog_kafka_lag_records{topic="o", partition="0"}': "20000+10x300",
    'lineagelog_kafka_restarts_total{instance="a"}': "0+1x300",
    'lineagelog_daemon_spool_bytes{connector="c"}': "90x300",
    'lineagelog_daemon_spool_max_bytes{connector="c"}': "100x300",
    'lineagelog_daemon_refused_total{connector="c"}': "0+1x300",
    'lineagelog_daemon_database_up{connector="c"}': "0x300",
    'lineagelog_analysis_failures_total{analysis="late_run"}': "0+1x300",
    'lineagelog_analysis_last_success_seconds{analysis="late_run"}': "-200000x300",
    'lineagelog_findings_open{analysis="late_run", severity="critical"}': "1x300",
    "lineagelog_notifying_failing": "1x300",
    'lineagelog_task_leads{task="forward t"}': "0x300",
    'lineagelog_task_failing{task="forward t"}': "1x300",
    "lineagelog_publishing_waits": "1x300",
}
"""A minute apart: everything that can be wrong."""
GOOD = {
    'up{job="lineagelog", instance="a"}': "1x300",
    'lineagelog_append_failures_total{instance="a", error="StoreUnavailable"}': "7x300",
    'lineagelog_queue_events{instance="a"}': "200x300",
    'lineagelog_append_seconds_bucket{instance="a", le="2"}': "0+1x300",
    'lineagelog_append_seconds_bucket{instance="a", le="+Inf"}': "0+1x300",
    'lineagelog_dead_letters_total{source="http", reason="not_json"}': "5x300",
    'lineagelog_events_total{source="http", verdict="stored"}': "0+9x300",
    'lineagelog_forward_failing{target="t"}': "0x300",
    'lineagelog_forward_lag_seconds{target="t"}': "20x300",
    'lineagelog_forward_parked{target="t"}': "0x300",
    'lineagelog_forward_gap{target="t"}': "0x300",
    'lineagelog_kafka_waiting{instance="a"}': "0x300",
    'lineagelog_kafka_lag_records{topic="o", partition="0"}': "20000-10x300",
    'lineagelog_kafka_restarts_total{instance="a"}': "9x300",
    'lineagelog_daemon_spool_bytes{connector="c"}': "9x300",
    'lineagelog_daemon_spool_max_bytes{connector="c"}': "100x300",
    'lineagelog_daemon_refused_total{connector="c"}': "3x300",
    'lineagelog_daemon_database_up{connector="c"}': "1x300",
    'lineagelog_analysis_failures_total{analysis="late_run"}': "3x300",
    'lineagelog_analysis_last_success_seconds{analysis="late_run"}': "0+60x300",
    'lineagelog_findings_open{analysis="late_run", severity="critical"}': "0x300",
    'lineagelog_findings_open{analysis="late_run", severity="low"}': "8x300",
    "lineagelog_notifying_failing": "0x300",
    'lineagelog_task_leads{task="forward t", instance="a"}': "1x300",
    'lineagelog_task_leads{task="forward t", instance="b"}': "0x300",
    'lineagelog_task_failing{task="forward t"}': "0x300",
    "lineagelog_publishing_waits": "0x300",
}


def firing(names: list[str]) -> dict[str, Any]:
    """What is asked of a history: which alerts fire at its end."""
    samples = [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in sorted(names)]
    query = 'count by (alertname) (ALERTS{alertstate="firing"})'
    return {"expr": query, "eval_time": f"{HOURS}h", "exp_samples": samples}


@needs_promtool
def test_each_alert_fires_when_it_must_and_no_other_time(tmp_path: Path) -> None:
    """promtool plays two histories: one in which everything is wrong, and one in which nothing is."""
    tests = [
        {
            "interval": "1m",
            "input_series": [{"series": name, "values": values} for name, values in series.items()],
            "promql_expr_test": [firing(names)],
        }
        for series, names in ((BAD, [rule["alert"] for rule in RULES]), (GOOD, []))
    ]
    file = tmp_path / "alerts_test.yml"
    rules = str(FOLDER / "alerts.yml")
    file.write_text(json.dumps({"rule_files": [rules], "evaluation_interval": "1m", "tests": tests}))
    for command in (["check", "config", str(FOLDER / "prometheus.yml")], ["test", "rules", str(file)]):
        ran = subprocess.run(["promtool", *command], capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr


def test_every_alert_is_in_the_runbook() -> None:
    """Under its name; and no other is."""
    runbook = (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")
    assert re.findall(r"^### (Lineagelog\w+)$", runbook, re.MULTILINE) == [rule["alert"] for rule in RULES]
    for rule in RULES:
        assert rule["annotations"]["runbook"] == f"docs/runbook.md#{rule['alert'].lower()}"


def queries() -> Iterator[tuple[str, str]]:
    """Of the alerts and of the panels, with Grafana's variables filled in."""
    for rule in RULES:
        yield rule["alert"], rule["expr"]
    filled = {"$job": "lineagelog", "$__rate_interval": "1m", "$__range": "1h"}
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            query = target["expr"]
            for name, value in filled.items():
                query = query.replace(name, value)
            yield panel["title"], query


def names_in(query: str) -> set[str]:
    return set(re.findall(r"\b(?:lineagelog|process)_\w+", query))


@contextlib.contextmanager
def prometheus(folder: Path) -> Iterator[Callable[[str], list[dict[str, Any]]]]:
    """Run it on a port of its own; gives a function that asks it, and raises where a query is refused."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{held.getsockname()[1]}"
    command = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen([*command, f"--web.listen-address={address}"], stdout=said, stderr=said)

    def ask(query: str) -> list[dict[str, Any]]:
        with urlopen(f"http://{address}/api/v1/query?{urlencode({'query': query})}", timeout=PATIENCE) as answer:
            return json.load(answer)["data"]["result"]  # type: ignore[no-any-return]

    def is_ready() -> bool:
        with contextlib.suppress(OSError), urlopen(f"http://{address}/-/ready", timeout=PATIENCE) as answer:
            return bool(answer.status == 200)
        return False

    try:
        wait_until(is_ready, lambda: (folder / "said").read_text())
        yield ask
    finally:
        process.kill()
        process.wait()


@pytest.mark.long
@needs_prometheus
def test_prometheus_scrapes_us_and_takes_every_query(store: LogStore, tmp_path: Path) -> None:
    """A real one: no query is refused, and those of what every server tells bring something."""
    url = store.engine.url.render_as_string(hide_password=False)
    with serve_process(LINEAGELOG_DATABASE=url, HOME=str(tmp_path)) as (_, port, _):
        own = yaml.safe_load((FOLDER / "prometheus.yml").read_text(encoding="utf-8"))
        own["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
        own["scrape_configs"][0]["static_configs"] = [{"targets": [f"127.0.0.1:{port}"]}]
        (tmp_path / "prometheus.yml").write_text(json.dumps(own))
        shutil.copy(FOLDER / "alerts.yml", tmp_path)
        with prometheus(tmp_path) as ask:
            wait_until(lambda: ask("count_over_time(up[1m]) > 2"))
            known = {str(each["metric"]["__name__"]) for each in ask('{__name__=~"lineagelog_.*|process_.*"}')}
            assert "lineagelog_queue_events" in known
            for title, query in queries():
                found = ask(query)  # an error would have been raised
                if title in ("Events by what became of them", "Waiting to be stored", "Memory"):
                    assert found, title
            assert "lineagelog_notices" not in "".join(known)  # a counter without labels yet has no series
            assert ask("ALERTS") == []
