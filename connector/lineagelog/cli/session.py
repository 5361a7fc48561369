"""What a running command has: its settings, the way to the store, and a voice for people."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit, urlunsplit

from lineagelog.errors import SettingsError, StoreNotCreated, StoreReadOnly, StoreTooOld

from .printing import tell

if TYPE_CHECKING:
    from lineagelog.event.parse import Check
    from lineagelog.intake import Door
    from lineagelog.settings import Settings
    from lineagelog.store import LogStore


TO_BEGIN: Final = "`lineagelog serve` or `lineagelog load` begin one there; --database or --data-dir name another"
"""What to do where there is no store."""


@dataclass(frozen=True, slots=True)
class Session:
    """One run of one command."""

    settings: Settings

    @classmethod
    def begin(cls, config: Path | None, options: Mapping[str, Any]) -> Session:
        """Read the settings; an option of the command line wins."""
        from lineagelog.settings import load_settings

        return cls(load_settings(config, options))

    def with_options(self, **options: Any) -> Session:
        """The session with further settings from the command line; None = not given."""
        from lineagelog.settings import override

        return Session(override(self.settings, options))

    def check(self) -> Check | None:
        """Strict mode's check, where the settings ask for it. Raises SettingsError without the extra ``strict``."""
        if not self.settings.intake.strict:
            return None
        from lineagelog.spec import specification
        from lineagelog.spec.strict import strict_check

        specification()
        return strict_check

    def door(self, store: LogStore) -> Door:
        """The way into the store, with the limits and the strict mode of the settings."""
        from lineagelog.intake import Door

        settings = self.settings.intake
        return Door(store, check=self.check(), max_event=settings.max_event, max_values=settings.max_event_values)

    def load(self, store: LogStore, events: Iterable[bytes]) -> None:
        """Store what an exporter made with the limits and the strict mode of the settings, and say what became of it.

        Raises InputError when an event is refused.
        """
        from lineagelog.intake.exported import load_exported

        settings = self.settings.intake
        counts = load_exported(self.door(store), events, batch=settings.batch, connections=settings.writers)
        tell(", ".join(f"{name} {number}" for name, number in sorted(counts.items())))

    def emit(self, events: list[bytes]) -> None:
        """Post what an exporter made to the backend that openlineage.yml or OPENLINEAGE_* configure."""
        try:
            from lineagelog.sdk.transport import send  # type: ignore[import-untyped,attr-defined,unused-ignore]
        except ImportError as error:
            raise SettingsError("--emit needs openlineage-python: pip install 'lineagelog[sdk]'") from error
        send(events)

    @contextmanager
    def store(
        self,
        *,
        create: bool = False,
        check: bool = True,
        pool_size: int = 5,
        patience: float | None = None,
        on_restart: Callable[[str], None] | None = None,
    ) -> Iterator[LogStore]:
        """The log store: in the given database, or in the embedded one, which runs meanwhile.

        With ``create`` what is not there is made: our own database and, unless ``check`` is false, the tables.
        Otherwise StoreNotCreated or StoreTooOld is raised, and nothing is made; tables of an earlier version in our own
        database are migrated all the same, for nobody else will do it. ``patience`` is open_engine's. With
        ``on_restart`` our own database is started again should it die, and that told.
        """
        from lineagelog.postgres.pulse import PATIENCE
        from lineagelog.store import Database, LogStore, LogStoreSchema, open_engine

        schema = LogStoreSchema(self.settings.schema_name).schema_name  # to say now what it cannot be
        with self.database(on_restart, create=create) as url:
            engine = open_engine(url, pool_size=pool_size, patience=patience or PATIENCE)
            store = LogStore(Database(engine, schema))
            try:
                if check:
                    ensure(store, create=create, migrate=create or self.is_embedded)
                yield store
            finally:
                store.database.dispose()

    @property
    def is_embedded(self) -> bool:
        """Whether the store is in a database of our own."""
        return self.settings.database is None

    def missing_database(self) -> Path | None:
        """Where our own database would be, if that is where the store is to be and it was never made."""
        if not self.is_embedded:
            return None
        from lineagelog.postgres.embedded import EmbeddedPostgres

        server = EmbeddedPostgres(self.settings.data_dir)
        return None if server.is_made() else server.data_dir

    @contextmanager
    def database(self, on_restart: Callable[[str], None] | None, *, create: bool) -> Iterator[str]:
        """The URL of the given database, or of the embedded one, which runs meanwhile and is made with ``create``."""
        if self.settings.database is not None:
            yield with_password(self.settings.database, self.settings.database_password_file)
            return
        if not create and (missing := self.missing_database()) is not None:
            raise StoreNotCreated(f"there is no store yet in {missing}: {TO_BEGIN}")
        from lineagelog.postgres.embedded import EmbeddedPostgres

        with EmbeddedPostgres(self.settings.data_dir, on_progress=say) as server, ExitStack() as watch:
            if on_restart is not None:
                watch.enter_context(server.watched(on_restart))
            yield server.url


def ensure(store: LogStore, *, create: bool, migrate: bool) -> None:
    """Check that the tables are there and of this version; make or migrate them if asked to."""
    try:
        store.check_version()
    except (StoreNotCreated, StoreTooOld) as lack:
        is_old = isinstance(lack, StoreTooOld)
        if not (migrate if is_old else create):
            raise
        try:
            store.create()
        except StoreReadOnly as error:
            if is_old:
                raise lack from error
            raise


def with_password(url: str, file: Path | None) -> str:
    """The URL with the password from a file, if it has none itself."""
    if file is None:
        return url
    from lineagelog.settings import read_text

    password = read_text(file, f"the password file {file}").rstrip("\r\n")
    parts = urlsplit(url)
    user, separator, place = parts.netloc.rpartition("@")
    if not separator or not user or ":" in user:
        raise SettingsError("database_password_file needs a database URL with a user and without a password")
    return urlunsplit(parts._replace(netloc=f"{user}:{quote(password, safe='')}@{place}"))


def say(text: str) -> None:
    """Tell a person who watches; programs are not bothered."""
    if sys.stderr is not None and sys.stderr.isatty():
        tell(text)


def warn_of_database(text: str) -> None:
    """Log what befell the embedded database under a command that runs for long."""
    import structlog

    structlog.get_logger(__name__).warning(text, action="database")
