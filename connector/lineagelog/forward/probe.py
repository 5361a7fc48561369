"""Asks an HTTP target once whether path, authentication and batches are right, with nothing that it would store."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from lineagelog.errors import SettingsError
from lineagelog.store.ledgers.forwarding import Known, Learnt

from .http import NO_BATCH, HttpSender
from .learnt import endpoint_of, habits_of
from .sending import TargetAnswer, TargetVerdict
from .target import BatchForm, ForwardTarget, TargetKind

_EMPTY: Final = {TargetKind.OPENLINEAGE: b"[]", TargetKind.EGERIA: b""}
"""No event in it. Egeria would pass an empty array on to its listeners; a request without a body it refuses."""
_NOT_US: Final = frozenset((401, 402, 403, 407, 451))
_NOT_HERE: Final = frozenset((404, 405, 410))


class Found(Struct, frozen=True):
    """What a probe has found out."""

    target: str
    url: str
    is_fine: bool
    """Whether a forward can be expected to go well."""
    path: str
    """right, wrong or unknown."""
    auth: str
    """accepted, refused or unknown."""
    batches: bool | None
    """Whether batches are taken; None where only a forward shows."""
    says: tuple[str, ...]
    """The same in words, a sentence each."""


def probe(target: ForwardTarget, known: Known) -> tuple[Found, Learnt | None]:
    """What the target answers, and what is to be remembered of it; None = as before. Raises SettingsError."""
    sender = HttpSender(target, known.learnt)
    try:
        return _probe(target, sender, known)
    finally:
        sender.close()


def _probe(target: ForwardTarget, sender: HttpSender, known: Known) -> tuple[Found, Learnt | None]:
    single = sender.ask(target.url, _EMPTY[target.kind])
    path, auth, sentence = _of_single(target, single)
    says: tuple[str, ...] = (sentence,)
    is_fine = path == "right" and auth == "accepted"
    batches = habits_of(target, known.learnt).batches
    if is_fine and (batch := sender.ask_for_batches()) is not None:
        batches, is_fine, more = _of_batch(target, batch, batches)
        says = (*says, more)
    found = Found(target.name, target.shown_url, is_fine, path, auth, batches, says)
    # a size that was refused before may do by now: the next 413 tells again
    return found, {"endpoint": endpoint_of(target), **_fact(batches)} if is_fine else None


def require_http(target: ForwardTarget) -> None:
    """Raises SettingsError for a target that cannot be asked."""
    if target.kind not in _EMPTY:
        raise SettingsError(f"--probe asks HTTP endpoints: {target.name!r} is of the kind {target.kind}")


def _fact(batches: bool | None) -> Learnt:
    return {} if batches is None else {"batches": batches}


def _of_single(target: ForwardTarget, answer: TargetAnswer) -> tuple[str, str, str]:
    """Path, authentication, and a sentence."""
    said = answer.detail or "yes"
    if answer.verdict in (TargetVerdict.DELIVERED, TargetVerdict.REFUSED):
        how = "takes" if answer.verdict is TargetVerdict.DELIVERED else "answers, and refuses"
        what = "a request without events" if answer.verdict is TargetVerdict.REFUSED else "requests"
        return "right", "accepted", f"The endpoint {how} {what} ({said}): path and authentication are right."
    if answer.verdict is TargetVerdict.HELD and answer.status in _NOT_US:
        return "unknown", "refused", f"The target refuses us ({said}): look at auth of [forward.{target.name}]."
    if answer.verdict is TargetVerdict.HELD and answer.status in _NOT_HERE:
        return "wrong", "unknown", f"The path takes no events ({said}): look at url of [forward.{target.name}]."
    if answer.verdict is TargetVerdict.HELD:
        return "unknown", "unknown", f"This is not an OpenLineage receiver, or it does not take events now: {said}."
    return "unknown", "unknown", f"The target cannot be asked now: {said}."


def _of_batch(target: ForwardTarget, answer: TargetAnswer, before: bool | None) -> tuple[bool | None, bool, str]:
    """Whether batches are taken, whether that goes with the settings, and a sentence."""
    is_auto = target.batch is BatchForm.AUTO
    if answer.verdict is TargetVerdict.DELIVERED:
        return True, True, "Batches are taken."
    if answer.verdict is TargetVerdict.HELD or answer.status in NO_BATCH:
        if is_auto:
            return False, True, f"There are no batches ({answer.detail}): events go one by one."
        hint = f"take batch = {str(target.batch)!r} out of [forward.{target.name}], or set batch_url"
        return False, False, f"Batches are not taken ({answer.detail}): {hint}."
    text = f"A batch without events is refused ({answer.detail}): the first forward finds out whether others are taken."
    return before, answer.verdict is TargetVerdict.REFUSED or is_auto, text
