"""What an HTTP response means for the events that were sent: only an OpenLineage receiver's "yes" is one."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime
from typing import Any, Final

import httpx2
import msgspec

from lineagelog.shown import mask_text

from .sending import DELIVERED, DETAIL_LENGTH, TargetAnswer, TargetVerdict
from .target import ForwardTarget

BUSY: Final = frozenset((408, 425, 429, 502, 503, 504))
TOO_LARGE: Final = 413
_MAX_RETRY_AFTER: Final = 3600.0
_SHORT: Final = 1000
"""Bytes of plain text that a receiver may say to an event; what is longer is a page."""
_NO: Final = frozenset(("failure", "failed", "fail", "error", "unauthorized", "forbidden"))


class _Failed(msgspec.Struct):
    """One event of a batch that was not taken, as the OpenLineage specification (1.40) has it."""

    index: int
    reason: Any = "refused"
    message: Any = ""
    retriable: Any = False


class _BatchAnswer(msgspec.Struct):
    """Of an OpenLineage receiver; OpenMetadata writes the same in camel case."""

    failed_events: list[_Failed] | None = None
    failedEvents: list[_Failed] | None = None  # noqa: N815  # the wire's name


_BATCH_ANSWER: Final = msgspec.json.Decoder(_BatchAnswer)


def answer_of(target: ForwardTarget, response: httpx2.Response, *, is_batch: bool = False) -> TargetAnswer:
    """The meaning of a response to one event, or to a batch as a whole."""
    status = response.status_code
    if response.is_success:
        return _answer_of_success(response, is_batch=is_batch)
    if status < 400:
        return TargetAnswer(TargetVerdict.HELD, status, _redirect(response))
    detail = f"HTTP {status}: {_text_of(response)}".rstrip(": ")
    if status in target.hold_on:
        return TargetAnswer(TargetVerdict.HELD, status, detail)
    if status in BUSY:
        return TargetAnswer(TargetVerdict.AGAIN, status, detail, _retry_after(response))
    if status >= 500:
        return TargetAnswer(TargetVerdict.FAILED, status, detail, _retry_after(response))
    return TargetAnswer(TargetVerdict.REFUSED, status, detail)


def answers_of_batch(response: httpx2.Response, count: int) -> list[TargetAnswer]:
    """What became of each event of a batch that was taken; what lists no failures says nothing against any."""
    answers = [DELIVERED] * count
    if b'"failed_events"' not in response.content and b'"failedEvents"' not in response.content:
        return answers
    try:
        answer = _BATCH_ANSWER.decode(response.content.strip())
        failed = answer.failed_events or answer.failedEvents or []
    except msgspec.MsgspecError as error:
        detail = f"HTTP {response.status_code} with failed_events that cannot be read: {error}"
        return [TargetAnswer(TargetVerdict.HELD, response.status_code, detail[:DETAIL_LENGTH])] * count
    for each in failed:
        if 0 <= each.index < count:
            detail = _clean(f"{each.reason or 'refused'}: {each.message or ''}".rstrip(": "))
            verdict = TargetVerdict.FAILED if each.retriable else TargetVerdict.REFUSED
            answers[each.index] = TargetAnswer(verdict, response.status_code, detail, _retry_after(response))
    return answers


def _answer_of_success(response: httpx2.Response, *, is_batch: bool) -> TargetAnswer:
    """A 2xx is a yes with no body, with JSON, or with a few words: not with a page of somebody else."""
    body = response.content.strip().removeprefix(b"\xef\xbb\xbf")
    kind = _clean(response.headers.get("Content-Type", "").partition(";")[0].strip().lower())
    is_json = kind.endswith(("/json", "+json"))
    try:
        if body[:1] in (b"{", b"[") or is_json:
            return _answer_of_json(response, msgspec.json.decode(body), is_batch=is_batch)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass  # a few words under any of the names below are as good
    if not body or ((is_json or kind in ("", "text/plain")) and len(body) <= _SHORT and not body.startswith(b"<")):
        return DELIVERED
    return _stranger(response, kind or "no content type")


def _answer_of_json(response: httpx2.Response, body: Any, *, is_batch: bool) -> TargetAnswer:
    """Any JSON is a yes, but for an object that says no in so many words."""
    if not isinstance(body, dict):
        return DELIVERED
    if "relatedHTTPCode" in body:
        return _egeria_answer(body)
    lists = is_batch and bool(body.get("failed_events") or body.get("failedEvents"))
    if body.get("error") or (str(body.get("status")).lower() in _NO and not lists):
        detail = f"HTTP {response.status_code} that says no: {_text_of(response)}"[:DETAIL_LENGTH]
        return TargetAnswer(TargetVerdict.HELD, response.status_code, detail)
    return DELIVERED


def _egeria_answer(body: dict[str, Any]) -> TargetAnswer:
    """Egeria answers HTTP 200 to everything; the true status is in the body's relatedHTTPCode."""
    try:
        code = int(body["relatedHTTPCode"])
    except (ValueError, TypeError, OverflowError):
        return TargetAnswer(TargetVerdict.HELD, 200, "HTTP 200 with a relatedHTTPCode that is no number")
    if code < 300:
        return DELIVERED
    message = body.get("exceptionErrorMessage") or "no message"
    detail = _clean(f"relatedHTTPCode {code}: {message}")
    if code in (401, 403, 404):
        return TargetAnswer(TargetVerdict.HELD, code, detail)
    return TargetAnswer(TargetVerdict.REFUSED if code < 500 else TargetVerdict.FAILED, code, detail)


def _stranger(response: httpx2.Response, what: str) -> TargetAnswer:
    """Not what a receiver says: somebody else answers in its place, or the URL is of something else."""
    text = f"HTTP {response.status_code} with {what} is no answer of an OpenLineage receiver"
    shown = _text_of(response)[:200]
    detail = f"{text} (a sign-in page, a proxy, another url?): {shown}"
    return TargetAnswer(TargetVerdict.HELD, response.status_code, detail[:DETAIL_LENGTH])


def _redirect(response: httpx2.Response) -> str:
    place = _clean(response.headers.get("Location", "").partition("?")[0])
    to = f" to {place}" if place else ""
    said = f"HTTP {response.status_code}: a redirect{to}, which is not followed (a sign-in page, another url?)"
    return said[:DETAIL_LENGTH]


def _text_of(response: httpx2.Response) -> str:
    return _clean(response.text)


def _clean(text: str) -> str:
    """For a terminal and a column of text: one line, without secrets and what does not print."""
    line = mask_text(" ".join(text[: 20 * DETAIL_LENGTH].split()))[:DETAIL_LENGTH]
    return "".join(char if char.isprintable() else "\ufffd" for char in line)


def _retry_after(response: httpx2.Response) -> float | None:
    """Seconds, from a number or a date."""
    value = response.headers.get("Retry-After", "").strip()
    if not value:
        return None
    try:
        seconds = float(value) if value.isdigit() else parsedate_to_datetime(value).timestamp() - time.time()
    except ValueError:
        return None
    return min(max(seconds, 0.0), _MAX_RETRY_AFTER)
