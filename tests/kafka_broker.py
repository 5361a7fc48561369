"""A real Kafka broker (KRaft, one node) for the session: jars from Maven Central, kept in the user's cache.

Use the fixture ``kafka``: ``from tests.kafka_broker import kafka``. The jars are fetched once (46 MB) by
``mvn dependency:copy-dependencies``; the broker is up in about eight seconds.
"""

from __future__ import annotations

import base64
import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import PATIENCE

VERSION = "3.9.1"
POM = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>lineagelog</groupId><artifactId>kafka-broker</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{VERSION}</version></dependency>
  </dependencies>
</project>
"""
PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}{listener}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}{listener}
controller.listener.names=CONTROLLER
log.dirs={logs}
num.partitions=3
offsets.topic.replication.factor=1
offsets.topic.num.partitions=3
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=3
group.initial.rebalance.delay.ms=0
log.flush.interval.messages=9223372036854775807
message.max.bytes=1048588
"""


@dataclass(frozen=True)
class Broker:
    """A running broker."""

    servers: str
    """For ``bootstrap.servers``."""
    jars: Path
    folder: Path

    def topic(self, partitions: int = 3) -> str:
        """Make a topic with a name of its own."""
        from confluent_kafka.admin import AdminClient, NewTopic

        name = f"t-{uuid.uuid4()}"
        client = AdminClient({"bootstrap.servers": self.servers})
        (made,) = client.create_topics([NewTopic(name, partitions)]).values()
        made.result(PATIENCE)
        return name


def fetch_jars() -> Path:
    """The folder of the broker's jars; fetched if they are not there. Skips where they cannot be had."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    jars = cache / "lineagelog-tests" / f"kafka-{VERSION}"
    if jars.is_dir():
        return jars
    if shutil.which("mvn") is None:
        pytest.skip("no Maven (mvn) to fetch the Kafka broker with")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "pom.xml").write_text(POM)
        command = [
            "mvn",
            "-q",
            "-B",
            "dependency:copy-dependencies",
            "-DoutputDirectory=jars",
            "-DincludeScope=runtime",
        ]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=280, check=False)
        if done.returncode:
            pytest.fail(f"Maven could not fetch the Kafka broker: {done.stdout[-500:]}")
        jars.parent.mkdir(parents=True, exist_ok=True)
        staged = jars.with_name(f"{jars.name}.{os.getpid()}")
        shutil.copytree(Path(folder) / "jars", staged)
        try:
            staged.rename(jars)
        except OSError:  # another session was faster
            shutil.rmtree(staged)
    return jars


def free_port() -> int:
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """Ports that differ."""
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]


def start(folder: Path, jars: Path, further: str = "", listener: str = "") -> tuple[subprocess.Popen[bytes], Broker]:
    """Format the storage and start the broker; returns when it answers.

    ``further`` are properties of one's own, ``listener`` is one more place to listen at, such as SSL://127.0.0.1:9093.
    """
    port, controller = free_ports(2)
    broker = Broker(f"127.0.0.1:{port}", jars, folder)
    properties = folder / "server.properties"
    values = {"port": port, "controller": controller, "logs": folder / "logs"}
    properties.write_text(PROPERTIES.format(**values, listener=f",{listener}" if listener else "") + further)
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    with (folder / "log").open("wb") as log:
        identified = f"--cluster-id={cluster}"  # one word: one in 64 begins with "-" and would be taken for an option
        storage = [*_java(jars), "kafka.tools.StorageTool", "format", identified, "-c", str(properties)]
        done = subprocess.run(storage, stdout=log, stderr=log, check=False, timeout=PATIENCE)
    assert done.returncode == 0, (folder / "log").read_text()[-2000:]
    return launch(broker), broker


def launch(broker: Broker) -> subprocess.Popen[bytes]:
    """Start the broker of a formatted storage, the first time or again; returns when it answers."""
    command = [*_java(broker.jars), "kafka.Kafka", str(broker.folder / "server.properties")]
    with (broker.folder / "log").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=broker.folder)
    try:
        _wait(process, broker)
    except BaseException:
        process.kill()
        process.wait()
        raise
    return process


def _java(jars: Path) -> list[str]:
    return ["java", "-Xmx256m", "-Xms128m", "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*"]


def _wait(process: subprocess.Popen[bytes], broker: Broker) -> None:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    client = AdminClient({"bootstrap.servers": broker.servers, "log_level": 0, "logger": _silent()})
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        assert process.poll() is None, (broker.folder / "log").read_text()[-2000:]
        try:
            if client.list_topics(timeout=2).brokers:
                return
        except KafkaException:
            time.sleep(0.2)
    pytest.fail("the Kafka broker did not start within 90 seconds")


def _silent() -> object:
    import logging

    logger = logging.getLogger("lineagelog.tests.kafka")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return logger


@pytest.fixture(scope="session")
def kafka() -> Iterator[Broker]:
    """A Kafka broker of this session."""
    if shutil.which("java") is None:
        pytest.skip("no Java to run a Kafka broker with")
    jars = fetch_jars()
    folder = Path(tempfile.mkdtemp(prefix="lineagelog-kafka-"))
    try:
        process, broker = start(folder, jars)
        try:
            yield broker
        finally:
            process.kill()
            process.wait(PATIENCE)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
