"""The life of the connectors in this JVM: initialize, start, replace, refresh, disconnect, each a call from Java."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, Protocol

import msgspec
import structlog

from lineagelog.errors import LineageLogError, SettingsError
from lineagelog.intake import Door, Tally
from lineagelog.intake.group import place_of as code_place_of
from lineagelog.shown import line_for_people, mask_text
from lineagelog.spec import specification
from lineagelog.spec.strict import strict_check
from lineagelog.spool import Spool
from lineagelog.store import LogStore

from .configuration import Defaults, Options, read_options
from .keeper import Keeper
from .metrics import ConnectorMetrics, ConnectorState
from .spools import note_destination

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

    @property
    def keeper(self) -> Keeper | None:
        """Takes the events; None while the connector is not started."""
        return self._keeper

    def start(self, ended: Callable[[Keeper], None] = lambda _: None) -> dict[str, Any]:
        """Open store and spool. Raises SettingsError and SpoolError; a database that is away is no error.

        ``ended`` is told when the keeper has given back all that it had.
        """
        self.retire()
        options = self.options
        if options.strict:
            specification()
        store = self._stores.open(options.address, options.schema, _CONNECT_SECONDS)
        try:
            spool = Spool(
                options.spool_folder, max_bytes=options.spool_max_bytes, fsync=True, lock_timeout=_SPOOL_LOCK_SECONDS
            )
            note_destination(options.spool_folder, options.destination)
            check = strict_check if options.strict else None
            door = Door(store, check=check, max_event=options.max_event, max_values=options.max_event_values)
            keeper = Keeper(
                door,
                spool,
                lambda: self._stores.ensure(store),
                wait=options.wait_seconds,
                name=options.name,
                release=lambda: _give_back(store, lambda: ended(keeper)),
            )
            keeper.open()
        except BaseException:
            store.engine.dispose()
            raise
        self._keeper = keeper
        said = self._state(keeper)
        _log.info("connector started", action="connector", connector=options.name, **said)
        return said

    def refresh(self, waiting: int) -> dict[str, Any]:
        """The counts; ``waiting``: events that nobody has taken yet."""
        if self._keeper is None:
            raise SettingsError(f"the connector {self.options.name} is not started")
        return {**self._keeper.metrics.as_dict(), **self._state(self._keeper), "waiting": waiting}

    def retire(self) -> dict[str, Any]:
        """Take no more events; what is in the spool is stored while the process runs, and then all is given back.

        Returns at once with the last counts, nothing if it was not started.
        """
        keeper, self._keeper = self._keeper, None
        if keeper is None:
            return {}
        keeper.retire()
        said = {**keeper.metrics.as_dict(), "waiting": 0, "database": keeper.database(ask=False)}
        _log.info("connector stopped", action="connector", connector=self.options.name, **said)
        return said

    def _state(self, keeper: Keeper) -> dict[str, Any]:
        options = self.options
        return {
            "store": options.destination,
            "spooled": keeper.metrics.as_dict()["spooled"],
            "database": keeper.database(),
        }


def _give_back(store: LogStore, then: Callable[[], None]) -> None:
    store.engine.dispose()
    then()


class Connectors:
    """All connectors of this JVM, by the ids that Java gives them.

    A daemon makes a new instance at each restart and may never tell the old one: its successor replaces it, and stores
    what still comes for it.
    """

    def __init__(self, stores: Stores, defaults: Defaults, waiting: Callable[[], int] = lambda: 0) -> None:
        self._stores, self._defaults = stores, defaults
        self.waiting = waiting
        self.queued = 0
        """Events that nobody has taken yet, as they were last seen."""
        self._connectors: dict[str, Connector] = {}
        self._successors: dict[str, str] = {}
        """Of instances that were replaced."""
        self._lock = threading.Lock()
        self._keepers: dict[Keeper, str] = {}
        """All that have not given back what they have, with the names of their connectors."""
        self._past: dict[str, ConnectorMetrics] = {}
        """Of the keepers that have."""
        self._starts: Counter[str] = Counter()
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
        known = self._present(connector)
        return None if known is None else known.keeper

    def _present(self, connector: str) -> Connector | None:
        return self._connectors.get(self._successors.get(connector, connector))

    def hide(self, connector: str, text: str) -> str:
        """The text in one line, without this connector's secrets."""
        known = self._present(connector)
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
        """End all, also those that were retired, within about ``timeout`` seconds; what is in a spool stays there."""
        end = time.monotonic() + timeout
        for known in list(self._connectors.values()):
            known.retire()
        for keeper in self._open_keepers():
            keeper.close(max(0.1, end - time.monotonic()))

    def states(self) -> list[ConnectorState]:
        """What there is to be seen, without a question to anybody."""
        with self._lock:
            names = sorted(self._starts)
            open_ones = {name: [keeper for keeper, of in self._keepers.items() if of == name] for name in names}
            past = dict(self._past)
        present = {known.keeper for known in list(self._connectors.values())}
        return [self._state(name, open_ones[name], past.get(name), present) for name in names]

    def _state(
        self, name: str, keepers: list[Keeper], past: ConnectorMetrics | None, present: set[Keeper | None]
    ) -> ConnectorState:
        metrics = [keeper.metrics for keeper in keepers] + ([past] if past is not None else [])
        counts: Counter[str] = Counter()
        tally = Tally()
        for each in metrics:
            tally.add(each)
            counts.update({key: value for key, value in each.as_dict().items() if isinstance(value, int)})
        ages = [age for keeper in keepers if (age := keeper.metrics.as_dict()["last_event_age_seconds"]) is not None]
        at_work = [keeper for keeper in keepers if keeper in present]
        return ConnectorState(
            name=name,
            starts=self._starts[name],
            counts=counts,
            tally=tally,
            spool_bytes=sum(keeper.spool_bytes() or 0 for keeper in keepers),
            spool_max_bytes=sum(keeper.spool_max_bytes for keeper in at_work),
            age=ages[-1] if ages else None,
            is_up=bool(at_work) and all(keeper.database(ask=False) == "up" for keeper in at_work),
        )

    def _open_keepers(self) -> list[Keeper]:
        with self._lock:
            return list(self._keepers)

    def _call(self, connector: str, operation: str, argument: str) -> dict[str, Any]:
        if operation == "initialize":
            return self._initialize(connector, argument)
        known = self._connectors.get(connector)
        if known is None:
            raise SettingsError(f"{operation}: the connector was not initialized")
        if operation == "start":
            return self._start(known)
        if operation == "replace":
            return self._replace(connector, argument)
        if operation == "refresh":
            return known.refresh(int(self.waiting()))
        if operation == "disconnect":
            return known.retire()
        raise SettingsError(f"there is no operation {operation!r}")

    def _initialize(self, connector: str, argument: str) -> dict[str, Any]:
        options = read_options(argument, self._defaults)
        before = self._connectors.get(connector)
        self._connectors[connector] = Connector(options, self._stores)
        if before is not None:
            before.retire()
        if not options.unknown:
            return {}
        names = ", ".join(options.unknown)
        _log.warning("unknown configuration properties", action="connector", connector=options.name, names=names)
        return {"unknown": options.unknown}

    def _start(self, known: Connector) -> dict[str, Any]:
        name = known.options.name
        said = known.start(self._ended)
        keeper = known.keeper
        if keeper is not None:
            with self._lock:
                self._keepers[keeper] = name
                self._starts[name] += 1
            if self._hurry:
                keeper.hurry()
        self._hand_over()
        return said

    def _replace(self, connector: str, argument: str) -> dict[str, Any]:
        """The instance before takes no more events; what is on its way from it is this one's."""
        before = str(msgspec.json.decode(argument, type=dict[str, str])["id"])
        self._successors = {
            **{old: connector if new == before else new for old, new in self._successors.items()},
            before: connector,
        }
        known = self._connectors.pop(before, None)
        said = {} if known is None else known.retire()
        self._hand_over()
        return said

    def _hand_over(self) -> None:
        """A retired keeper needs not drain a spool that one at work drains."""
        present = {known.keeper for known in list(self._connectors.values())} - {None}
        folders = {keeper.folder for keeper in present if keeper is not None}
        for keeper in self._open_keepers():
            if keeper not in present and keeper.folder in folders:
                keeper.retire(handed_over=True)

    def _ended(self, keeper: Keeper) -> None:
        """On the keeper's thread, when all is given back: its counts are kept, it is not."""
        with self._lock:
            name = self._keepers.pop(keeper, None)
            if name is not None:
                self._past.setdefault(name, ConnectorMetrics()).add(keeper.metrics)


def shown(error: BaseException) -> str:
    """The error in one line, without values: those may be an event's."""
    return mask_text(str(error)) if isinstance(error, LineageLogError) else f"internal error: {code_place_of(error)}"


class CallError(Exception):
    """A life cycle call failed; the text is one line without secrets."""
