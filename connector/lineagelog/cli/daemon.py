"""`lineagelog daemon`: an Egeria integration daemon in this process, with our connector in it."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from lineagelog.errors import SettingsError

from .command import command, terminated
from .session import Session, ensure, warn_of_database

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lineagelog.egeria import Connectors, Defaults
    from lineagelog.settings import DaemonSettings
    from lineagelog.store import LogStore

_CONNECTIONS = 3
"""Of a connector: for events, for what was spooled, and for its metrics."""


def register(app: typer.Typer) -> None:
    """Mount the command."""
    command(
        app,
        "daemon",
        "lineagelog daemon --platform /opt/egeria/omag-server-platform.jar --config daemon.toml",
        "lineagelog daemon --config daemon.toml   (with platform and arguments in its section [daemon])",
    )(_daemon)


def _daemon(
    session: Session,
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="ARGUMENT", help="Given to the platform's main; after --.")
    ] = None,
    platform: Annotated[
        str | None, typer.Option(metavar="PATH", help="The platform's jar, or the folder that holds its jars.")
    ] = None,
    java: Annotated[
        str | None, typer.Option(metavar="PATH", help="Home of the Java to use, else JAVA_HOME, else PATH.")
    ] = None,
    main_class: Annotated[
        str | None, typer.Option(metavar="CLASS", help="The platform's main class, else its manifest's.")
    ] = None,
    metrics_port: Annotated[
        int | None, typer.Option(metavar="PORT", help="Serve metrics for Prometheus here; 0 = a free port.")
    ] = None,
    log_level: Annotated[str | None, typer.Option(metavar="LEVEL", help="debug, info, warning or error.")] = None,
    log_format: Annotated[str | None, typer.Option(metavar="FORMAT", help="auto, console or json.")] = None,
) -> None:
    """Run an Egeria integration daemon with lineagelog's connector in it, until SIGTERM or Ctrl-C.

    Starts the JVM with the platform in this process. What stands after -- is given to the platform. An event is
    acknowledged to Egeria when it is stored, or when it is on the disk because its database is away; what is there is
    stored when the database is back.
    """
    daemon = {"platform": platform, "java": java, "main_class": main_class, "metrics_port": metrics_port}
    session = session.with_options(daemon=daemon, log={"level": log_level, "format": log_format})
    try:
        import lineagelog.egeria.jvm  # noqa: F401  # to say now what is missing
    except ModuleNotFoundError as error:
        raise SettingsError(f"{error.name} is missing: pip install 'lineagelog[daemon]'") from error
    from lineagelog.egeria import Connectors, Host, find_java, plan_launch
    from lineagelog.logs import configure_logs

    settings = session.settings.daemon
    configure_logs(session.settings.log.level, session.settings.log.format)
    if settings.platform is None:
        raise SettingsError("there is no platform to start: --platform PATH, or platform in [daemon]")
    launch = plan_launch(
        settings.platform.absolute(),
        main_class=settings.main_class,
        more=[path.absolute() for path in settings.loader_path],
        arguments=[*settings.arguments, *(arguments or [])],
    )
    found = find_java(settings.java, settings.jvm_options)
    session = _with_absolute_paths(session)
    defaults = _defaults(session)
    _tell_spools(defaults.spool_folder)
    _enter_working_dir(settings)
    with (
        Host(found, launch, options=settings.jvm_options, stop_seconds=settings.stop_seconds, came=terminated) as host,
        ExitStack() as stack,
    ):
        connectors = Connectors(_Stores(session, stack), defaults)
        with _metrics(settings, connectors):
            host.run(connectors)


@contextmanager
def _metrics(settings: DaemonSettings, connectors: Connectors) -> Iterator[None]:
    if settings.metrics_port is None:
        yield
        return
    import structlog

    from lineagelog.egeria.metrics import DaemonMetrics
    from lineagelog.metrics import served

    with served(DaemonMetrics(connectors), settings.metrics_host, settings.metrics_port) as url:
        structlog.get_logger(__name__).info("metrics are served", action="metrics", url=url)
        yield


def _defaults(session: Session) -> Defaults:
    from lineagelog.egeria import Defaults
    from lineagelog.egeria.configuration import place_of
    from lineagelog.postgres.embedded import default_data_dir

    settings = session.settings
    spool = settings.daemon.spool_dir or (settings.data_dir or default_data_dir()) / "spool"
    return Defaults(
        schema=settings.schema_name,
        spool_folder=spool.absolute(),
        spool_max_bytes=settings.daemon.spool_mib << 20,
        wait_seconds=settings.daemon.wait_seconds,
        strict=settings.intake.strict,
        max_event=settings.intake.max_event,
        max_event_values=settings.intake.max_event_values,
        own_place="the embedded database" if settings.database is None else place_of(settings.database),
    )


def _with_absolute_paths(session: Session) -> Session:
    """The settings, so that they mean the same in another working directory."""
    settings = session.settings
    paths = {"data_dir": settings.data_dir, "database_password_file": settings.database_password_file}
    return session.with_options(**{key: path.absolute() if path is not None else None for key, path in paths.items()})


def _enter_working_dir(settings: DaemonSettings) -> None:
    if settings.working_dir is None:
        return
    try:
        os.chdir(settings.working_dir)
    except OSError as error:
        raise SettingsError(f"working_dir: {settings.working_dir}: {error.strerror or error}") from error


def _tell_spools(folder: Path) -> None:
    """Name what earlier runs left: a connector for that destination drains it when it starts, and nobody else does."""
    import structlog

    from lineagelog.egeria.spools import waiting_spools

    for spool, destination, waiting in waiting_spools(folder):
        said = {"folder": str(spool), "destination": destination, "bytes": waiting}
        structlog.get_logger(__name__).warning("events wait in a spool", action="spool", **said)


class _Stores:
    """The way to the stores: by URL, or the settings' own database, which is entered when a connector needs it."""

    def __init__(self, session: Session, stack: ExitStack) -> None:
        self._session, self._stack = session, stack
        self._own: str | None = None

    def open(self, address: str | None, schema: str, connect_timeout: int) -> LogStore:
        """The store in a schema of a database; connects to nothing, but an embedded server is started."""
        from lineagelog.store import Database, LogStore, LogStoreSchema, open_engine

        schema = LogStoreSchema(schema).schema_name  # to say now what it cannot be
        if address is None and self._own is None:
            self._own = self._stack.enter_context(self._session.database(warn_of_database, create=True))
        url = address or self._own or ""
        return LogStore(Database(open_engine(url, pool_size=_CONNECTIONS, connect_timeout=connect_timeout), schema))

    def ensure(self, store: LogStore) -> None:
        """Make or migrate the tables where that is needed."""
        ensure(store, create=True, migrate=True)
