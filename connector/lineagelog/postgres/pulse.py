"""Tells a database that hangs from one that is slow, and ends the wait for one that hangs.

A stopped server, or a proxy that swallows bytes, leaves the socket open and says nothing: the driver would wait for
ever. Whoever has waited for longer than a patience asks on a connection of its own whether anybody is there; if nobody
answers, the wait ends with an error and the connection is closed. A statement that takes hours goes on.

Once nobody has answered, the database is taken for silent: further waits end soon and no connection is tried, but for
the one of a thread that asks again and again until somebody answers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from typing import Any, Final
from weakref import WeakKeyDictionary, ref

import psycopg
from psycopg.waiting import Ready
from sqlalchemy import Engine

PATIENCE: Final = 10.0
"""Seconds without a word before it is asked whether the database lives, and seconds for the answer."""
_FRESH: Final = 1.0
"""Seconds for which an answer counts for others that wait, too."""
_SOON: Final = 0.5
"""Seconds that a wait may take while the database is silent."""
_RARELY: Final = 10
"""A wait that was found well is looked at again when it is longer by this part."""
_ANSWERED: Final = "FATAL"
"""What the server's own refusals of a connection begin with (too many clients, starting up): somebody is there."""

_pulses: WeakKeyDictionary[Engine, Pulse] = WeakKeyDictionary()


class NoAnswerError(psycopg.OperationalError):
    """The database has not answered, and does not answer anybody else either."""


class Pulse:
    """Whether the database of an engine answers. Safe for many threads, which share the answer to one question."""

    def __init__(self, parameters: dict[str, Any], patience: float) -> None:
        self._parameters, self.patience = parameters, patience
        self._lock = threading.Lock()
        self._asked_at = float("-inf")
        self._silent = threading.Event()

    def beats(self) -> bool:
        """Ask, unless that was done just now; takes as long as the patience at most, or twice that."""
        with self._lock:
            if not self._silent.is_set() and time.monotonic() - self._asked_at > _FRESH:
                if not self._ask():
                    self._silent.set()
                    threading.Thread(target=_ask_again, args=(ref(self),), name="pulse", daemon=True).start()
                self._asked_at = time.monotonic()
            return not self._silent.is_set()

    def require(self) -> None:
        """Raise NoAnswerError at once while the database is silent: a connection would only wait."""
        if self._silent.is_set():
            raise NoAnswerError("the database has not answered for a while")

    def ask_again(self) -> bool:
        """Whether a silent database answers again."""
        if self._ask():
            self._silent.clear()
        return not self._silent.is_set()

    def _ask(self) -> bool:
        seconds = max(2, round(self.patience))  # the driver knows whole seconds, and 2 at least
        try:
            with psycopg.connect(**self._parameters | {"connect_timeout": seconds}, autocommit=True) as connection:
                _bound(connection, _deadline(seconds))
                connection.execute("SELECT 1")
        except NoAnswerError:
            return False
        except psycopg.OperationalError as error:
            return _ANSWERED in str(error)
        return True

    def bind(self, connection: psycopg.Connection[Any]) -> None:
        """From now on no wait on the connection outlasts a database that hangs."""
        _bound(connection, self.check)

    def check(self, waited: float, looked: float) -> bool:
        """Whether it was time to look; raises NoAnswerError if nobody is there."""
        patience = _SOON if self._silent.is_set() else self.patience
        if waited < patience or waited < looked * (1 + 1 / _RARELY):
            return False
        if not self.beats():
            raise NoAnswerError(f"no answer for {waited:.0f} seconds, and none to a new connection")
        return True


def _ask_again(known: ref[Pulse]) -> None:
    """Ask a silent database until it answers, or until nobody holds the engine any more."""
    while (pulse := known()) is not None and not pulse.ask_again():
        del pulse
        time.sleep(_FRESH)


type Check = Callable[[float, float], bool]
"""Called now and then with the seconds that a wait has taken, and had taken when it was looked at last."""


def watch(engine: Engine, patience: float) -> Pulse:
    """The pulse of a new engine, to bind its connections to."""
    _, parameters = engine.dialect.create_connect_args(engine.url)
    pulse = _pulses[engine] = Pulse({key: value for key, value in parameters.items() if key != "pooling"}, patience)
    return pulse


def pulse_of(engine: Engine) -> Pulse:
    """The pulse of an engine that open_engine made."""
    return _pulses[engine]


def _deadline(seconds: float) -> Check:
    def check(waited: float, _looked: float) -> bool:
        if waited > seconds:
            raise NoAnswerError(f"no answer for {seconds:.0f} seconds")
        return False

    return check


def _bound(connection: psycopg.Connection[Any], check: Check) -> None:
    """Let every wait of the connection be looked at; one that is given up closes it, for what comes is unknown."""
    wait, known = type(connection).wait, ref(connection)  # no circle: a connection that is dropped ends at once

    def bounded(generator: Any, *arguments: Any, **options: Any) -> Any:
        ours = known()
        assert ours is not None  # noqa: S101  # whoever calls has it
        try:
            return wait(ours, _looked_at(generator, check), *arguments, **options)
        except NoAnswerError:
            ours.close()
            raise

    setattr(connection, "wait", bounded)  # noqa: B010  # of this one connection, whatever its class


def _looked_at(generator: Any, check: Check) -> Generator[Any, Any, Any]:
    """The same generator of the driver's; the driver tells it every tenth of a second that nothing has come."""
    try:
        wanted = next(generator)
        begun, looked = time.monotonic(), 0.0
        while True:
            ready = yield wanted
            if ready != Ready.NONE:
                begun, looked = time.monotonic(), 0.0
            elif check(waited := time.monotonic() - begun, looked):
                looked = waited
            wanted = generator.send(ready)
    except StopIteration as end:
        return end.value
