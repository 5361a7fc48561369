"""`lineagelog consume` as it is run: closing line, exit codes, errors in one line, stop, metrics, security."""

from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lineagelog.event.parse import parse
from lineagelog.store import LogStore
from tests.kafka_broker import Broker, free_port
from tests.support import COMMAND, PATIENCE, Ran, connect, run_here, run_process, wait_until

from .conftest import (
    OwnBroker,
    OwnPostgres,
    Topic,
    consume_process,
    count,
    event,
    own_broker_with,
    poison,
    prove_exactly_once,
    rows,
)


def url_of(store: LogStore) -> str:
    return store.database.url


def consume(store: LogStore, topic: Topic, *more: str, **variables: str) -> Ran:
    where = ("--database", url_of(store), "--brokers", topic.broker.servers, "--topic", topic.name)
    return run_process("consume", *where, "--until-end", "--log-format", "json", *more, **variables)


@pytest.mark.long
def test_until_the_end(topic: Topic, store: LogStore) -> None:
    """The closing line has the words of `load`; exit code 1 where something was refused, 0 the next time."""
    topic.send([*(event(number) for number in range(300)), poison(0), None])
    ran = consume(store, topic)
    assert re.fullmatch(r"read 301 stored 300 duplicate 0 expired 0 dead 1 in \d+\.\d\d s\n", ran.out), ran
    assert ran.code == 1
    again = consume(store, topic, "--json", "--group", "another")
    assert {key: again.json[key] for key in ("read", "stored", "duplicate", "expired", "dead")} == {
        "read": 301,
        "stored": 0,
        "duplicate": 300,
        "expired": 0,
        "dead": 1,
    }
    assert (again.json["records"], again.json["tombstones"]) == (302, 1)
    nothing = consume(store, topic, "--json")
    assert (nothing.code, nothing.json["records"]) == (0, 0)


@pytest.mark.long
def test_workers_as_processes(topic: Topic, store: LogStore) -> None:
    """Two workers read everything once, and their metrics add up."""
    topic.send([*(event(number) for number in range(2000)), *map(poison, range(7))])
    ran = consume(store, topic, "--workers", "2", "--json", "--kafka-option", "session.timeout.ms=6000")
    assert (ran.code, ran.json["read"], ran.json["stored"], ran.json["dead"]) == (1, 2007, 2000, 7), ran
    assert "worker has ended" not in ran.err
    prove_exactly_once(store, topic, 2000, 7)


@pytest.mark.long
def test_settings_file_and_variables(topic: Topic, store: LogStore, tmp_path: Path) -> None:
    """Everything can come from the file, and passwords from a file of their own; `config` does not show them."""
    (tmp_path / "kafka.properties").write_text("# secrets\nsasl.password = hunter2\n\nclient.rack=r1\n")
    config = tmp_path / "lineagelog.toml"
    config.write_text(
        f'database = "{url_of(store)}"\n[consume]\nbrokers = "{topic.broker.servers}"\ntopics = ["{topic.name}"]\n'
        f'group = "g"\nkafka_file = "{tmp_path / "kafka.properties"}"\n'
        '[consume.kafka]\n"session.timeout.ms" = 6000\n"ssl.key.password" = "hunter3"\n"ssl.key.pem" = "hunter4"\n'
    )
    topic.send([event(0)])
    shown = run_here("config", "--config", str(config)).out
    assert '"ssl.key.password":"***"' in shown.replace(" ", "")
    assert "hunter" not in shown
    config.write_text(config.read_text().replace('"ssl.key.password" = "hunter3"\n"ssl.key.pem" = "hunter4"\n', ""))
    ran = run_process("consume", "--until-end", "--json", "--config", str(config), LINEAGELOG_CONSUME__GROUP="other")
    assert (ran.code, ran.json["stored"]) == (0, 1), ran
    assert "hunter" not in ran.out + ran.err
    assert {row.consumer_group for row in rows(store)} == {"other"}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--topic", "t"], "no brokers: give --brokers host:9092 or 'consume.brokers'"),
        (["--brokers", "b:9092"], "no topic: give --topic NAME or 'consume.topics'"),
        (["--kafka-option", "no equals"], "--kafka-option must be KEY=VALUE"),
        (["--kafka-option", "no.such.key=1"], """'consume.kafka': No such configuration property: "no.such.key\""""),
        (["--kafka-option", "group.id=x"], "'consume.kafka': group.id is set by 'consume.group'"),
        (["--kafka-option", "auto.offset.reset=latest"], "is set by 'consume.offset_reset'"),
        (["--kafka-option", "enable.auto.commit=false"], "enable.auto.commit cannot be set"),
        (["--kafka-option", "session.timeout.ms=many"], "'consume.kafka': Invalid value"),
        (["--workers", "0"], "option --workers: 'consume.workers': input should be greater than or equal to 1"),
    ],
)
def test_settings_that_cannot_be_used(store: LogStore, options: list[str], text: str) -> None:
    """One line that names the setting, and exit code 2, before anything is connected."""
    given = ["--brokers", "b:9092", "--topic", "t"] if options[0].startswith(("--kafka", "--workers")) else []
    ran = run_here("consume", "--database", url_of(store), *given, *options)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1), ran
    assert text in ran.err


@pytest.mark.long
def test_no_broker(store: LogStore, closed_port: int) -> None:
    """One line after the wait that was asked for."""
    begun = time.monotonic()
    where = ("--brokers", f"127.0.0.1:{closed_port}", "--topic", "t", "--database", url_of(store))
    ran = run_process("consume", *where, "--start-timeout", "2")
    assert time.monotonic() - begun > 1.5
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1), ran
    assert re.match(r"lineagelog: no Kafka broker can be reached at 127\.0\.0\.1:\d+: .*refused", ran.err), ran.err


@pytest.mark.long
def test_no_topic(kafka: Broker, store: LogStore) -> None:
    """One line that names it; the broker is not made to create it."""
    where = ("--brokers", kafka.servers, "--topic", "nowhere", "--database", url_of(store), "--start-timeout", "1")
    ran = run_process("consume", *where)
    assert (ran.code, ran.err.count("\n")) == (2, 1), ran
    assert f"topic 'nowhere' is not there, or we may not see it (brokers {kafka.servers})" in ran.err


def test_no_database(topic: Topic, closed_port: int) -> None:
    """At the start it is said in one line."""
    where = ("--brokers", topic.broker.servers, "--topic", topic.name)
    ran = run_process("consume", *where, "--database", f"postgresql://x@127.0.0.1:{closed_port}/x")
    assert (ran.code, ran.err.count("\n")) == (2, 1), ran
    assert "the database cannot be reached" in ran.err


@pytest.mark.long
@pytest.mark.parametrize(("number", "workers"), [(signal.SIGINT, "1"), (signal.SIGTERM, "2")])
def test_stop(topic: Topic, store: LogStore, tmp_path: Path, number: int, workers: str) -> None:
    """A signal in the middle of the work: exit code 0, and the next start reads on."""
    topic.send(event(n) for n in range(6000))
    with consume_process(store, topic, tmp_path / "log", "--workers", workers) as running:
        wait_until(lambda: count(store) > 0)
        running.signal(number)
        out, _ = running.process.communicate(timeout=PATIENCE)
        assert running.process.returncode == 0
    stored = count(store)
    assert f" stored {stored} ".encode() in out
    assert json.loads(consume(store, topic, "--json").out)["stored"] == 6000 - stored
    prove_exactly_once(store, topic, 6000, 0)


def catches(pid: int, number: int) -> bool:
    """Whether a process handles a signal itself."""
    (mask,) = re.findall(r"SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text())
    return bool(int(mask, 16) >> number - 1 & 1)


def test_stop_while_the_brokers_are_awaited(store: LogStore) -> None:
    """No broker, no topic yet: the wait ends at once, with nothing read and exit code 0."""
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        where = ["--brokers", f"127.0.0.1:{nobody.getsockname()[1]}", "--topic", "t", "--database", url_of(store)]
        process = subprocess.Popen(
            [COMMAND, "consume", *where, "--start-timeout", "3600"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        nobody.settimeout(PATIENCE)
        nobody.accept()[0].close()  # it has asked
        wait_until(lambda: catches(process.pid, signal.SIGTERM))
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    assert out.startswith("read 0 stored 0 ")


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.long)])
def test_stop_while_the_database_is_away(topic: Topic, own_postgres: OwnPostgres, tmp_path: Path, workers: str) -> None:
    """It ends; what was not stored is read after the next start."""
    topic.send(event(n) for n in range(1000))
    with consume_process(own_postgres.store, topic, tmp_path / "log", "--workers", workers) as running:
        wait_until(lambda: count(own_postgres.store) == 1000)
        own_postgres.signal(signal.SIGINT)
        topic.send(event(n) for n in range(1000, 2000))
        wait_until(lambda: bool(running.said("waits for the database")))
        running.stop()
        assert running.process.returncode == 0
    own_postgres.start()
    own_postgres.store.engine.dispose()  # connections of before
    consume(own_postgres.store, topic)
    prove_exactly_once(own_postgres.store, topic, 2000, 0)


def scrape(url: str) -> dict[str, float]:
    """Samples by name and labels."""
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
        lines = answer.read().decode().splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}


@pytest.mark.parametrize("workers", [pytest.param("1", marks=pytest.mark.long), "2"])
def test_metrics_and_status(topic: Topic, store: LogStore, tmp_path: Path, workers: str) -> None:
    """WorkerMetrics by verdict and lag per partition on the port that was asked for; `status` shows the group."""
    topic.send([*(event(n) for n in range(20)), poison(0), None], partition=1)
    options = ("--workers", workers, "--metrics-port", "0")
    with consume_process(store, topic, tmp_path / "log", *options) as running:
        wait_until(lambda: bool(running.said("metrics are served")))
        url = running.said("metrics are served")[0]["url"]
        name = f'{{partition="1",topic="{topic.name}"}}'
        wait_until(lambda: scrape(url).get(f"lineagelog_kafka_next_offset{name}") == 22)
        wait_until(lambda: scrape(url).get(f"lineagelog_kafka_lag_records{name}") == 0)
        found = scrape(url)
        assert found['lineagelog_events_total{source="kafka",verdict="stored"}'] == 20
        assert found['lineagelog_dead_letters_total{reason="not_an_event",source="kafka"}'] == 1
        assert (found["lineagelog_kafka_records_total"], found["lineagelog_kafka_tombstones_total"]) == (22, 1)
        assert (found["lineagelog_kafka_workers"], found["lineagelog_kafka_waiting"]) == (int(workers), 0)
        status = run_here("status", "--json", "--database", url_of(store)).json["kafka"]
        assert {(row["consumer_group"], row["topic"], row["lag"]) for row in status} == {("lineagelog", topic.name, 0)}
        assert "kafka" in run_here("status", "--database", url_of(store)).out
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    refused = consume(store, topic, "--metrics-port", str(taken.getsockname()[1]))
    taken.close()
    assert (refused.code, "metrics cannot be served on 127.0.0.1" in refused.err) == (2, True)


# --- security --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def secure(kafka: Broker) -> Iterator[tuple[OwnBroker, str, Path]]:
    """A broker with a listener for TLS and user and password; its address there, and its certificate."""
    if shutil.which("keytool") is None:
        pytest.skip("no keytool to make a certificate with")
    folder = Path(tempfile.mkdtemp(prefix="lineagelog-kafka-tls-"))
    store, certificate, port = folder / "broker.p12", folder / "ca.pem", free_port()
    key = ["-alias", "broker", "-keystore", str(store), "-storepass", "changeit"]
    make = ["-genkeypair", "-keyalg", "RSA", "-dname", "CN=localhost", "-ext", "san=ip:127.0.0.1", "-validity", "2"]
    for command in (make, ["-exportcert", "-rfc", "-file", str(certificate)]):
        subprocess.run(["keytool", *command, *key], check=True, capture_output=True, timeout=PATIENCE)
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_lineage="hunter2";'
    further = f"""
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_ssl.plain.sasl.jaas.config={login}
ssl.keystore.location={store}
ssl.keystore.password=changeit
ssl.keystore.type=PKCS12
"""
    try:
        with own_broker_with(kafka, further, listener=f"SASL_SSL://127.0.0.1:{port}") as own:
            yield own, f"127.0.0.1:{port}", certificate
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def secure_options(certificate: Path, **more: str) -> list[str]:
    settings = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "lineage",
        "ssl.ca.location": str(certificate),
        **more,
    }
    return [word for key, value in settings.items() for word in ("--kafka-option", f"{key}={value}")]


@pytest.mark.long
def test_tls_and_password(secure: tuple[OwnBroker, str, Path], store: LogStore, tmp_path: Path) -> None:
    """With certificate and password events are read, by several workers too; the password is never shown."""
    own, address, certificate = secure
    topic = Topic(own.broker, own.broker.topic())
    topic.send(event(number) for number in range(50))
    (tmp_path / "secrets").write_text("sasl.password=hunter2\n")
    variables = {"LINEAGELOG_CONSUME__KAFKA_FILE": str(tmp_path / "secrets"), "LINEAGELOG_LOG__LEVEL": "debug"}
    for workers, expected in (("1", 50), ("2", 0)):
        where = ("--brokers", address, "--topic", topic.name, "--database", url_of(store), "--workers", workers)
        options = secure_options(certificate, **({"debug": "all"} if workers == "2" else {}))
        ran = run_process("consume", *where, "--until-end", "--json", *options, **variables)
        assert (ran.code, ran.json["stored"]) == (0, expected), ran
        assert "hunter2" not in ran.out + ran.err
        assert ("librdkafka" in ran.err) is (workers == "2")


@pytest.mark.long
@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"sasl.password": "wrong-one"}, "TLS or login at the Kafka brokers fails: sasl_ssl://"),
        ({"sasl.password": "hunter2", "ssl.ca.location": ""}, "certificate verify failed"),
    ],
)
def test_who_is_refused_is_told(
    secure: tuple[OwnBroker, str, Path], store: LogStore, wrong: dict[str, str], text: str
) -> None:
    """A wrong password or certificate is said at once, in one line without the password."""
    own, address, certificate = secure
    topic = Topic(own.broker, own.broker.topic(1))
    options = secure_options(certificate, **wrong)
    options = [*options, "--start-timeout", "3600"]  # which is not waited for
    ran = run_process("consume", "--brokers", address, "--topic", topic.name, "--database", url_of(store), *options)
    assert (ran.code, ran.err.count("\n")) == (2, 1), ran
    assert text in ran.err
    assert "wrong-one" not in ran.err


# --- roles and upkeep ------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_writers_role_is_enough(topic: Topic, store: LogStore) -> None:
    """A role that may write the tables and owns nothing consumes; `doctor` knows the table."""
    now = datetime.now(UTC).isoformat()
    store.append([parse(event(0, eventTime=now))])  # the owner makes this month's partition
    topic.send([event(1, eventTime=now), poison(0)])
    url = url_of(store)
    with connect(url, autocommit=True) as connection:
        connection.execute(b"CREATE ROLE kafka_writer LOGIN")
        try:
            for statement in (
                b"GRANT USAGE ON SCHEMA openlineage TO kafka_writer",
                b"GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA openlineage TO kafka_writer",
                b"GRANT USAGE ON ALL SEQUENCES IN SCHEMA openlineage TO kafka_writer",
                b"REVOKE INSERT, UPDATE ON openlineage.ol_store FROM kafka_writer",
            ):
                connection.execute(statement)
            as_writer = url.replace("://lineagelog@", "://kafka_writer@")
            ran = consume(store, topic, "--json", "--database", as_writer)
            assert (ran.code, ran.json["stored"], ran.json["dead"]) == (1, 1, 1), ran
            connection.execute(b"REVOKE UPDATE ON openlineage.ol_kafka_offset FROM kafka_writer")
            checks = run_here("doctor", "--json", "--database", as_writer).json["checks"]
            assert [check["observed"] for check in checks if check["subject"] == "writing"] == [
                "kafka_writer may not write ol_kafka_offset"
            ]
        finally:
            connection.execute(b"DROP OWNED BY kafka_writer")
            connection.execute(b"DROP ROLE kafka_writer")


@pytest.mark.long
def test_doctor_finds_groups_that_nobody_reads_for(topic: Topic, store: LogStore) -> None:
    """After ten minutes without a sign of life, with the lag that was left."""
    topic.send([event(0)])
    consume(store, topic)

    def checks() -> list[tuple[str, bool]]:
        found = run_here("doctor", "--json", "--database", url_of(store)).json["checks"]
        return [(check["observed"], bool(check["advice"])) for check in found if check["subject"] == "kafka"]

    ((observed, is_finding),) = checks()
    assert (observed.startswith(f"group lineagelog, topic {topic.name}: lag 0, seen "), is_finding) == (True, False)
    with connect(url_of(store)) as connection:
        connection.execute(
            b"UPDATE openlineage.ol_kafka_offset SET end_offset = next_offset + 5, seen_at = now() - interval '1 hour'"
        )
    ((observed, is_finding),) = checks()
    assert ("lag 15, seen" in observed, is_finding) == (True, True)
