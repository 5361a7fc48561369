"""The life of the connectors in this JVM: initialize, start, refresh, disconnect, each a call from Java."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final, Protocol

import msgspec
import structlog

from lineagelog.errors import LineageLogError, SettingsError
from lineagelog.event.strict import load_schemas, strict_check
from lineagelog.intake import Door
from lineagelog.intake.group import place_of as code_place_of
from lineagelog.shown import line_for_people, mask_text
from lineagelog.spool import Spool
from lineagelog.store import LogStore

from .configuration import Defaults, Options, read_options
from .keeper import Keeper
from .spools import note_destination

CLOSE_SECONDS: Final = 5.0
_CONNECT_SECONDS: Final = 5
_SPOOL_LOCK_SECONDS: Final = 5.0

_log = structlog.get_logger(__name__)


class Stores(Protocol):
    """Opens log stores; the command line has the way to the daemon's own database."""

    def open(self, address: str | None, schema: str, connect_timeout: int) -> LogStore:
        """The store at a database URL, or in the daemon's own database. Raises SettingsError; connects to nothing."""

    def ensure(self, store: LogStore) -> None:
        """Make or migrate the tables where that is needed."""


class Connector:
    """One connector instance of the daemon."""

    def __init__(self, options: Options, stores: Stores) -> None:
        self.options = options
        self._stores = stores
        self._keeper: Keeper | None = None
        self._store: LogStore | None = None

    @property
    def keeper(self) -> Keeper | None:
        """Takes the events; None while the connector is not started."""
        return self._keeper

    def start(self) -> dict[str, Any]:
        """Open store and spool. Raises SettingsError and SpoolError; a database that is away is no error."""
        self.disconnect()
        options = self.options
        if options.strict:
            load_schemas()
        store = self._stores.open(options.address, options.schema, _CONNECT_SECONDS)
        try:
            spool = Spool(
                options.spool_folder, max_bytes=options.spool_max_bytes, fsync=True, lock_timeout=_SPOOL_LOCK_SECONDS
            )
            note_destination(options.spool_folder, options.destination)
            door = Door(store, check=strict_check if options.strict else None, max_event=options.max_event)
            keeper = Keeper(
                door, spool, lambda: self._stores.ensure(store), wait=options.wait_seconds, name=options.name
            )
            keeper.open()
        except BaseException:
            store.engine.dispose()
            raise
        self._store, self._keeper = store, keeper
        said = self._state(keeper)
        _log.info("connector started", action="connector", connector=options.name, **said)
        return said

    def refresh(self, waiting: int) -> dict[str, Any]:
        """The figures; ``waiting``: events that nobody has taken yet."""
        if self._keeper is None:
            raise SettingsError(f"the connector {self.options.name} is not started")
        return {**self._keeper.figures.as_dict(), **self._state(self._keeper), "waiting": waiting}

    def disconnect(self, timeout: float = CLOSE_SECONDS) -> dict[str, Any]:
        """Take no more events; what is in the spool stays there. Returns the last figures, nothing if not started."""
        keeper, self._keeper = self._keeper, None
        if keeper is None:
            return {}
        ended = keeper.close(timeout)
        if self._store is not None and ended:
            self._store.engine.dispose()
        said = {**keeper.figures.as_dict(), "waiting": 0, "database": keeper.database(ask=False)}
        _log.info("connector stopped", action="connector", connector=self.options.name, **said)
        return said

    def _state(self, keeper: Keeper) -> dict[str, Any]:
        options = self.options
        return {
            "store": options.destination,
            "spooled": keeper.figures.as_dict()["spooled"],
            "database": keeper.database(),
        }


class Connectors:
    """All connectors of this JVM, by the ids that Java gives them."""

    def __init__(self, stores: Stores, defaults: Defaults, waiting: Callable[[], int] = lambda: 0) -> None:
        self._stores, self._defaults = stores, defaults
        self.waiting = waiting
        self._connectors: dict[str, Connector] = {}
        self._hurry = False

    def call(self, connector: str, operation: str, argument: str) -> str:
        """Answer a life cycle call (JSON in, JSON out). Raises CallError with one line that may go into audit logs."""
        try:
            return msgspec.json.encode(self._call(connector, operation, argument)).decode()
        except LineageLogError as error:
            text = self.hide(connector, str(error))
        except Exception as error:
            text = shown(error)
        _log.error(f"{operation} failed", action="connector", connector=connector, error=text)
        raise CallError(text)

    def keeper(self, connector: str) -> Keeper | None:
        """Who takes this connector's events; None if it is not started."""
        known = self._connectors.get(connector)
        return None if known is None else known.keeper

    def hide(self, connector: str, text: str) -> str:
        """The text in one line, without this connector's secrets."""
        known = self._connectors.get(connector)
        line = line_for_people(text)
        return line if known is None else known.options.hide(line)

    def started(self) -> int:
        """How many connectors are started."""
        return sum(known.keeper is not None for known in list(self._connectors.values()))

    def hurry(self) -> None:
        """From now on no event waits for its database."""
        self._hurry = True
        for known in list(self._connectors.values()):
            if known.keeper is not None:
                known.keeper.hurry()

    def close(self, timeout: float) -> None:
        """Disconnect all, within about ``timeout`` seconds."""
        end = time.monotonic() + timeout
        for known in list(self._connectors.values()):
            known.disconnect(max(0.1, end - time.monotonic()))

    def _call(self, connector: str, operation: str, argument: str) -> dict[str, Any]:
        if operation == "initialize":
            options = read_options(argument, self._defaults)
            if options.unknown:
                names = ", ".join(options.unknown)
                _log.warning(
                    "unknown configuration properties", action="connector", connector=options.name, names=names
                )
            before = self._connectors.get(connector)
            self._connectors[connector] = Connector(options, self._stores)
            if before is not None:
                before.disconnect()
            return {}
        known = self._connectors.get(connector)
        if known is None:
            raise SettingsError(f"{operation}: the connector was not initialized")
        if operation == "start":
            said = known.start()
            if self._hurry and known.keeper is not None:
                known.keeper.hurry()
            return said
        if operation == "refresh":
            return known.refresh(int(self.waiting()))
        if operation == "disconnect":
            return known.disconnect()
        raise SettingsError(f"there is no operation {operation!r}")


def shown(error: BaseException) -> str:
    """The error in one line, without values: those may be an event's."""
    return mask_text(str(error)) if isinstance(error, LineageLogError) else f"internal error: {code_place_of(error)}"


class CallError(Exception):
    """A life cycle call failed; the text is one line without secrets."""
