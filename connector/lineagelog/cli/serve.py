"""`lineagelog serve`: the HTTP server over the store."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lineagelog.errors import SettingsError

from .command import command
from .printing import put
from .session import Session, warn_of_database

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from lineagelog.event.parse import Check
    from lineagelog.forward import ForwardTarget
    from lineagelog.service.beside import Beside
    from lineagelog.settings import ServerSettings, Settings
    from lineagelog.store import LogStore

_READERS = 6
"""Connections for reading requests, so that they never take those of the writers.

As many as there are threads that read or look up tokens: a slow read keeps nobody out.
"""
_PATIENCE = 3.0
"""Seconds without a word from the database until it is asked whether it lives; senders wait meanwhile."""


def register(app: typer.Typer) -> None:
    """Mount the command."""
    command(
        app,
        "serve",
        "lineagelog serve",
        "lineagelog serve --port 5001 --database postgresql://writer@db/lineage",
        "lineagelog serve --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem   (after: lineagelog tokens create)",
    )(_serve)


def _serve(
    session: Session,
    host: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Address to listen on.", show_default="127.0.0.1")
    ] = None,
    port: Annotated[
        int | None, typer.Option(metavar="PORT", help="Port to listen on; 0 = a free one.", show_default="5000")
    ] = None,
    tls_cert: Annotated[str | None, typer.Option(metavar="FILE", help="Certificate chain (PEM): serve HTTPS.")] = None,
    tls_key: Annotated[str | None, typer.Option(metavar="FILE", help="Its private key (PEM).")] = None,
    log_level: Annotated[str | None, typer.Option(metavar="LEVEL", help="debug, info, warning or error.")] = None,
    log_format: Annotated[str | None, typer.Option(metavar="FORMAT", help="auto, console or json.")] = None,
) -> None:
    """Receive OpenLineage events over HTTP and answer reads, until SIGTERM or Ctrl-C.

    Makes the store if it is missing. A stop answers what was accepted first. In the background it forwards to
    targets with `follow` or `interval`, publishes, asks the analyses of `[analyse.schedule]`, tells the webhook.
    """
    server = {"host": host, "port": port, "tls_cert": tls_cert, "tls_key": tls_key}
    session = session.with_options(server=server, log={"level": log_level, "format": log_format})
    try:
        from lineagelog.server import check_tls
    except ModuleNotFoundError as error:
        raise SettingsError(f"{error.name} is missing: pip install 'lineagelog[server]'") from error
    from lineagelog.logs import configure_logs

    settings = session.settings
    configure_logs(settings.log.level, settings.log.format)
    check_tls(settings.server.tls_cert, settings.server.tls_key)
    check, targets = session.check(), _served(settings.forward)
    connections = settings.intake.writers + 2  # one for heavy events, one for /readyz
    with session.store(create=True, pool_size=connections, patience=_PATIENCE, on_restart=warn_of_database) as store:
        _serve_store(store, settings, check, targets)


def _serve_store(store: LogStore, settings: Settings, check: Check | None, targets: Sequence[ForwardTarget]) -> None:
    from lineagelog.read import Reader
    from lineagelog.read.analyses import terms_of
    from lineagelog.server import HttpServer, Limits, create_app
    from lineagelog.store.ledgers.tokens import Tokens

    limits = Limits(
        max_request=settings.server.max_request_mib << 20,
        max_events=settings.server.max_request_events,
        max_event=settings.intake.max_event,
        max_values=settings.intake.max_event_values,
        max_waiting=settings.intake.queue,
        max_batch=settings.intake.batch,
        patience=_PATIENCE,
        analyses=terms_of(settings.analyse),
    )
    database = store.database.with_own_pool(_READERS, _PATIENCE)
    with ExitStack() as stack:
        stack.callback(database.dispose)
        is_wanted = targets or settings.egeria.publish or settings.analyse.schedule or settings.notify.is_wanted
        running = stack.enter_context(_beside(store, targets, settings)) if is_wanted else None
        app = create_app(
            store,
            reader=Reader(database),
            tokens=Tokens(database),
            check=check,
            limits=limits,
            writers=settings.intake.writers,
            cors_origins=settings.server.cors_origins,
            host_names=settings.server.host_names,
            samples=running.samples if running is not None else None,
            page=settings.server.page,
            engine_action_url=settings.egeria.engine_action_url,
        )
        server = HttpServer(app, **_listening(settings.server))
        if running is not None:
            running.start()
        server.run()


def _served(sections: Mapping[str, Mapping[str, Any]]) -> Sequence[ForwardTarget]:
    """The targets to forward to in the background; what forwarding brings in is loaded where there is one."""
    if not sections:
        return ()
    from lineagelog.service.targets import served_targets

    return served_targets(sections)


def _beside(store: LogStore, targets: Sequence[ForwardTarget], settings: Settings) -> AbstractContextManager[Beside]:
    from lineagelog.service.beside import beside

    return beside(store, targets, settings)


def _listening(server: ServerSettings) -> dict[str, Any]:
    return {
        "host": server.host,
        "port": server.port,
        "tls_certificate": server.tls_cert,
        "tls_key": server.tls_key,
        "stop_seconds": server.stop_seconds,
        "on_ready": lambda url: _greet(url, server.tls_cert),
    }


def _greet(url: str, certificate: Path | None) -> None:
    """Say where it listens and how to try it."""
    trust = f"--cacert {certificate} " if certificate is not None else ""
    example = (
        '{"eventType": "START", "eventTime": "2026-11-20T08:00:00Z", "producer": "curl", '
        '"run": {"runId": "0190-first-run"}, "job": {"namespace": "demo", "name": "hello"}}'
    )
    put(f"lineagelog listens on {url} — set OPENLINEAGE_URL={url}, or try:")
    put(f"  curl {trust}{url}/api/v1/lineage -H 'Content-Type: application/json' -d '{example}'")
    put("  lineagelog list runs", flush=True)
