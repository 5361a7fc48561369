"""`lineagelog consume`: events from topics of Kafka into the store."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lineagelog.errors import InputError, SettingsError

from .command import ERROR, FINDINGS, OK, command
from .printing import Json, print_json, put
from .session import Session, warn_of_database
from .stopping import stopping

if TYPE_CHECKING:
    from lineagelog.kafka.consumer import Worker
    from lineagelog.kafka.metrics import WorkerMetrics
    from lineagelog.kafka.options import ConsumerOptions
    from lineagelog.kafka.supervisor import Link
    from lineagelog.settings import ConsumeSettings, Settings
    from lineagelog.store.ledgers.kafka_offsets import PartitionPlace

_CONNECTIONS = 2
"""One for the writer, one to spare."""
_IDLE_SECONDS = 15
"""A worker that was stopped in the middle of a transaction (a debugger, a machine that sleeps) holds the rows of its
events; the new owner of its partitions needs them, and waits so long."""

type Until = Mapping["PartitionPlace", int] | None


def register(app: typer.Typer) -> None:
    """Mount the command."""
    command(
        app,
        "consume",
        "lineagelog consume --brokers kafka:9092 --topic openlineage.events",
        "lineagelog consume --workers 3 --metrics-port 9187   (brokers, topics and passwords from the settings file)",
        "lineagelog consume --brokers kafka:9092 --topic openlineage.events --until-end --json",
    )(_consume)


Brokers = Annotated[str | None, typer.Option(metavar="HOST:PORT,…", help="Kafka brokers to begin with.")]
Topics = Annotated[list[str] | None, typer.Option(metavar="NAME", help="A topic to read; may be repeated.")]
Group = Annotated[str | None, typer.Option(metavar="NAME", help="Consumer group.", show_default="lineagelog")]
Workers = Annotated[int | None, typer.Option(metavar="N", help="Processes that read.", show_default="1")]
UntilEnd = Annotated[
    bool, typer.Option("--until-end", help="Stop when all that was in the topics at the start is stored.")
]
KafkaOptions = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY=VALUE", help="A setting of librdkafka; may be repeated. Passwords: see kafka_file."),
]
StartTimeout = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="Wait so long for brokers and topics at the start.", show_default="30"),
]
MetricsPort = Annotated[
    int | None, typer.Option(metavar="PORT", help="Serve metrics for Prometheus here; 0 = a free port.")
]
LogLevel = Annotated[str | None, typer.Option(metavar="LEVEL", help="debug, info, warning or error.")]
LogFormat = Annotated[str | None, typer.Option(metavar="FORMAT", help="auto, console or json.")]


def _consume(
    session: Session,
    brokers: Brokers = None,
    topic: Topics = None,
    group: Group = None,
    workers: Workers = None,
    until_end: UntilEnd = False,
    kafka_option: KafkaOptions = None,
    start_timeout: StartTimeout = None,
    metrics_port: MetricsPort = None,
    log_level: LogLevel = None,
    log_format: LogFormat = None,
    json: Json = False,
) -> int:
    """Read OpenLineage events from topics of Kafka, until SIGTERM or Ctrl-C.

    Offsets are kept in the store, in the transaction that stores the events: each event is stored exactly once. Bad
    events become dead letters and hold up nothing. Makes the store if it is missing.
    """
    given = {
        "brokers": brokers,
        "topics": topic or None,
        "group": group,
        "workers": workers,
        "start_timeout": start_timeout,
        "metrics_port": metrics_port,
        "kafka": _pairs(kafka_option or []) or None,
    }
    session = session.with_options(consume=given, log={"level": log_level, "format": log_format})
    settings = session.settings
    options = _options(settings.consume)
    from lineagelog.logs import configure_logs
    from lineagelog.postgres.engine import require_session

    configure_logs(settings.log.level, settings.log.format)
    with stopping() as stop:  # from the first word to the brokers on a stop is one that was asked for, and ends with 0
        options.check()
        session.check()  # to say now what is missing
        with session.store(create=True, pool_size=1, on_restart=warn_of_database) as store:
            require_session(store.engine, "consume")
            metrics = _run(settings, store.database.url, options, stop, until_end=until_end)
    print_json(metrics.as_json()) if json else put(metrics)
    return FINDINGS if until_end and metrics.dead else OK


def _pairs(given: list[str]) -> dict[str, str]:
    pairs = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise InputError(f"--kafka-option must be KEY=VALUE, such as security.protocol=SSL, not {key.strip()!r}")
        pairs[key.strip()] = value
    return pairs


def _options(settings: ConsumeSettings) -> ConsumerOptions:
    try:
        from lineagelog.kafka.options import ConsumerOptions
    except ModuleNotFoundError as error:
        raise SettingsError(f"{error.name} is missing: pip install 'lineagelog[kafka]'") from error
    return ConsumerOptions(
        brokers=settings.brokers,
        topics=tuple(dict.fromkeys(settings.topics)),
        group=settings.group,
        workers=settings.workers,
        batch=settings.batch,
        batch_size=settings.batch_mib << 20,
        linger=settings.linger,
        offset_reset=settings.offset_reset,
        start_timeout=settings.start_timeout,
        kafka={**_read_properties(settings.kafka_file), **settings.kafka},
    )


def _read_properties(file: Path | None) -> dict[str, str]:
    """The settings of a file in the form that kcat and librdkafka's other programs read: KEY=VALUE, # comments."""
    if file is None:
        return {}
    from lineagelog.settings import read_text

    lines = read_text(file, f"'consume.kafka_file' {file}").splitlines()
    pairs = {}
    for number, line in enumerate(lines, 1):
        if (text := line.strip()) and not text.startswith("#"):
            key, equals, value = text.partition("=")
            if not equals:
                raise SettingsError(f"{file}:{number}: not KEY=VALUE")
            pairs[key.strip()] = value.strip()
    return pairs


def _run(
    settings: Settings, url: str, options: ConsumerOptions, stop: threading.Event, *, until_end: bool
) -> WorkerMetrics:
    from lineagelog.kafka.cluster import KafkaCluster, Stopped
    from lineagelog.kafka.metrics import WorkerMetrics
    from lineagelog.kafka.supervisor import Supervisor

    cluster = KafkaCluster(options, stop)
    try:
        cluster.check()
        until = cluster.ends() if until_end else None
    except Stopped:
        return WorkerMetrics()
    if options.workers == 1:
        with _worker(settings, url, options, stop=stop, until=until) as worker:
            with _metrics(settings.consume, lambda: worker.metrics, lambda: (1, 0)):
                worker.run()
            return worker.metrics
    supervisor = Supervisor(partial(_work, settings, url, options, until), options.workers)
    with _metrics(settings.consume, supervisor.metrics, lambda: (supervisor.running, supervisor.restarts)):
        supervisor.run(stop)
    return supervisor.metrics()


@contextmanager
def _worker(settings: Settings, url: str, options: ConsumerOptions, **more: Any) -> Iterator[Worker]:
    from lineagelog.intake import Door
    from lineagelog.kafka.consumer import Worker
    from lineagelog.store import Database, LogStore, open_engine

    engine = open_engine(url, pool_size=_CONNECTIONS, idle_in_transaction=_IDLE_SECONDS)
    door = Door(
        LogStore(Database(engine, settings.schema_name)),
        check=Session(settings).check(),
        max_event=settings.intake.max_event,
        max_values=settings.intake.max_event_values,
    )
    try:
        yield Worker(door, options, **more)
    finally:
        engine.dispose()


@contextmanager
def _metrics(
    settings: ConsumeSettings, metrics: Callable[[], WorkerMetrics], workers: Callable[[], tuple[int, int]]
) -> Iterator[None]:
    if settings.metrics_port is None:
        yield
        return
    import structlog

    from lineagelog.kafka.metrics import KafkaMetrics
    from lineagelog.metrics import served

    with served(KafkaMetrics(metrics, workers), settings.metrics_host, settings.metrics_port) as url:
        structlog.get_logger(__name__).info("metrics are served", action="metrics", url=url)
        yield


def _work(settings: Settings, url: str, options: ConsumerOptions, until: Until, number: int, link: Link) -> None:
    """A worker's process."""
    import structlog

    from lineagelog.errors import LineageLogError
    from lineagelog.intake.group import place_of
    from lineagelog.logs import configure_logs

    stop = link.open()
    configure_logs(settings.log.level, settings.log.format)
    structlog.contextvars.bind_contextvars(worker=number)
    try:
        with _worker(settings, url, options, stop=stop, number=number, until=until, report=link.report) as worker:
            worker.run()
            link.tell(worker.metrics)
    except LineageLogError as error:
        structlog.get_logger(__name__).error("worker fails", action="consume", error=str(error))
        sys.exit(ERROR)
    except Exception as error:  # its text may quote an event
        structlog.get_logger(__name__).error("worker fails", action="consume", error=place_of(error))
        sys.exit(ERROR)
