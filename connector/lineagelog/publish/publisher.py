"""The publisher: takes what is due in the outbox, makes it true in Egeria, and writes down what came of it."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Final

from msgspec import Struct, field
from msgspec.structs import asdict

from lineagelog.errors import EgeriaRefused, EgeriaUnavailable, EgeriaUnfit
from lineagelog.shown import mask_text
from lineagelog.store.ledgers.publications import OutboxItem, OutboxState, Planned, Publications

from .find import Catalogue
from .item import About, PlanItem, PlanKind
from .realise import NoElementError, Realiser

_FIRST_WAIT: Final = timedelta(seconds=2)
_LONGEST_WAIT: Final = timedelta(minutes=15)
_REFRESH: Final = 500
"""Items after which what was looked up is looked up anew: others change Egeria, too."""


class Report(Struct):
    """What a publisher did."""

    confirmed: int = 0
    withdrawn: int = 0
    unknown: int = 0
    """Egeria has no element for them."""
    parked: int = 0
    failed: int = 0
    """To be tried again by themselves."""
    problems: Counter[str] = field(default_factory=Counter)
    """What was told of those that did not work, and how often."""

    @property
    def counts(self) -> dict[str, int]:
        """Items by what became of them."""
        return {name: value for name, value in asdict(self).items() if name != "problems"}

    def add(self, other: Report) -> None:
        """What another pass did, too; its problems stay with it."""
        for name, count in other.counts.items():
            setattr(self, name, getattr(self, name) + count)

    @property
    def is_clean(self) -> bool:
        """Whether nothing went wrong."""
        return not (self.parked or self.failed)


class Publisher:
    """Works off one store's outbox; any number may, in as many processes."""

    def __init__(
        self, outbox: Publications, catalogue: Catalogue, *, draw: Callable[[], float] = random.random
    ) -> None:
        self._outbox, self._catalogue, self._draw = outbox, catalogue, draw

    def keep(self, wishes: Sequence[PlanItem], *, days_kept: int) -> int:
        """Put wishes into the outbox; how many of them are new or other than what is there."""
        kept = self._outbox.plan([_planned(wish) for wish in wishes])
        for kind in {wish.kind for wish in wishes if wish.kind.is_daily}:
            self._outbox.retire(kind, days_kept)
        return kept

    def publish(
        self, stop: threading.Event | None = None, on_item: Callable[[OutboxItem, OutboxState], None] | None = None
    ) -> Report:
        """Send what is due until nothing is, or ``stop`` is set.

        Raises EgeriaUnavailable where Egeria is away, and EgeriaUnfit: the item that it was tried with is given back,
        what was sent before stays so.
        """
        report, realiser = Report(), Realiser(self._catalogue)
        number = 0
        while not (stop is not None and stop.is_set()) and (item := self._outbox.take()) is not None:
            number += 1
            if number % _REFRESH == 0:
                realiser = Realiser(self._catalogue)
            state = self._one(item, realiser, report)
            if on_item is not None:
                on_item(item, state)
        return report

    def _one(self, item: OutboxItem, realiser: Realiser, report: Report) -> OutboxState:
        try:
            return self._done(item, realiser, report)
        except NoElementError as error:
            self._outbox.leave(item, str(error))
            report.unknown += 1
            return OutboxState.UNKNOWN
        except EgeriaRefused as error:
            told = {"message_id": error.message_id, "user_action": error.user_action}
            self._outbox.park(item, mask_text(str(error)), **told)
            report.parked += 1
            report.problems[error.message_id or str(error)] += 1
            return OutboxState.PARKED
        except EgeriaUnfit:
            self._outbox.give_back(item)
            raise
        except EgeriaUnavailable as error:
            if error.is_away:
                self._outbox.give_back(item)
                raise
            self._outbox.fail(item, str(error), self._wait(item.attempts))
            report.failed += 1
            report.problems[str(error)] += 1
            return OutboxState.FAILED
        except BaseException:  # an interrupt: others need not wait for the lease to end
            self._outbox.give_back(item)
            raise

    def _done(self, item: OutboxItem, realiser: Realiser, report: Report) -> OutboxState:
        if item.state == OutboxState.RETIRED:
            realiser.withdraw(item.guids)
            self._outbox.remove(item)
            report.withdrawn += 1
            return OutboxState.RETIRED
        self._outbox.confirm(item, realiser.realise(_wish(item), item.guids))
        report.confirmed += 1
        return OutboxState.CONFIRMED

    def _wait(self, attempts: int) -> timedelta:
        longest: timedelta = min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** min(attempts, 20))
        return longest * (0.5 + self._draw() / 2)


def _planned(wish: PlanItem) -> Planned:
    about = wish.about
    content = dict(wish.content)
    if about.other_names:
        content["other_names"] = [list(each) for each in about.other_names]
    return Planned(
        id=wish.wish_id,
        kind=wish.kind,
        subject_kind=about.kind,
        namespace=about.namespace,
        name=about.name,
        day=wish.day,
        priority=list(PlanKind).index(wish.kind),
        content=content,
        content_hash=PlanItem(kind=wish.kind, about=about, content=content).content_hash,
    )


def _wish(item: OutboxItem) -> PlanItem:
    content = dict(item.content)
    others: Iterable[Sequence[str]] = content.pop("other_names", ())
    about = About(item.subject_kind, item.namespace, item.name, tuple((each[0], each[1]) for each in others))
    return PlanItem(kind=PlanKind(item.kind), about=about, day=item.day, content=content)
