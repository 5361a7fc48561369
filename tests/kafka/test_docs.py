"""docs/kafka.md: what it shows works, and what it names is there."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from lineagelog.cli.consume import _options
from lineagelog.kafka.metrics import KafkaMetrics, WorkerMetrics
from lineagelog.settings import load_settings
from lineagelog.store import LogStore
from lineagelog.store.ledgers.kafka_offsets import PartitionPlace
from tests.support import ROOT, connect, run_process, wait_until

from .conftest import Topic, consume_process, event

PAGE = (ROOT / "docs" / "kafka.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.long
def test_the_commands(topic: Topic, store: LogStore, tmp_path: Path) -> None:
    """Each command line as printed, with our broker and topic: the one that goes on, and the one that ends."""
    first, second = ([*shlex.split(block)[1:]] for block in blocks("sh"))
    assert "--until-end" not in first
    topic.send([event(0)])
    url = store.database.url
    with consume_process(store, topic, tmp_path / "log") as running:
        wait_until(lambda: bool(running.said("claimed")))
    ours = {"openlineage.events": topic.name}
    words = [topic.broker.servers if word.startswith("kafka-1:") else ours.get(word, word) for word in second]
    ran = run_process(*words, "--database", url, "--group", "other")
    assert (ran.code, ran.json["read"]) == (0, 1), ran
    assert [word for word in first if word.startswith("--")] == ["--brokers", "--topic"]


def test_the_settings(tmp_path: Path) -> None:
    """The section of the settings is one that librdkafka takes."""
    (section,) = blocks("toml")
    secrets = tmp_path / "kafka.properties"
    secrets.write_text("sasl.password = x\n")
    authority = tmp_path / "ca.pem"
    config = tmp_path / "lineagelog.toml"
    values = tomllib.loads(section)["consume"]
    certificate = values["kafka"]["ssl.ca.location"]
    config.write_text(section.replace(values["kafka_file"], str(secrets)).replace(certificate, str(authority)))
    options = _options(load_settings(config).consume)
    assert (options.workers, options.kafka["sasl.password"], options.group) == (2, "x", "lineagelog")
    assert set(values["kafka"]) < set(options.kafka)


def test_the_metrics() -> None:
    """The table names every metric that there is, and no other."""
    metrics = WorkerMetrics()
    metrics.lags = {PartitionPlace("t", 0): (1, 2)}
    metrics.append_failed("StoreUnavailable")
    families = KafkaMetrics(lambda: metrics, lambda: (1, 0)).collect()
    there = {family.name + ("_total" if family.type == "counter" else "") for family in families}
    assert set(re.findall(r"`(lineagelog_[a-z_]+)", PAGE)) == there


def test_the_statement_that_lets_a_group_read_again(topic: Topic, store: LogStore) -> None:
    """The DELETE as printed is one that PostgreSQL takes."""
    (statement,) = re.findall(r"^    (DELETE .+);$", PAGE, re.MULTILINE)
    with connect(store.database.url) as connection:
        assert connection.execute(statement.encode()).rowcount == 0
