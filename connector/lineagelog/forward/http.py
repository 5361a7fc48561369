"""Sends over HTTP: to any OpenLineage endpoint, in batches where it takes them, and to Egeria's publish endpoint."""

from __future__ import annotations

import gzip
import ssl
import time
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from importlib.metadata import version
from typing import Any, Final

import httpx2
import msgspec

from lineagelog.errors import SettingsError
from lineagelog.shown import mask_text

from .auth import Credentials, TokenError
from .sending import DELIVERED, DETAIL_LENGTH, UNTRIED, Answer, Item, Verdict
from .target import BatchForm, ForwardTarget, Kind

_BUSY: Final = frozenset((408, 425, 429, 502, 503, 504))
_NO_BATCH: Final = frozenset((404, 405, 501))
_MAX_RETRY_AFTER: Final = 3600.0
_GZIP_LEVEL: Final = 3


class _Failed(msgspec.Struct):
    """One event of a batch that was not taken, as the OpenLineage specification (1.40) has it."""

    index: int
    reason: str = "refused"
    message: str = ""
    retriable: bool = False


class _BatchAnswer(msgspec.Struct):
    failed_events: list[_Failed] = []


_BATCH_ANSWER: Final = msgspec.json.Decoder(_BatchAnswer)


class HttpSender:
    """Sends to one endpoint. Raises SettingsError for secrets or certificates that cannot be read."""

    file_size: int | None = None

    def __init__(self, target: ForwardTarget, transport: httpx2.BaseTransport | None = None) -> None:
        self.lanes = target.in_flight
        self._target = target
        limits = httpx2.Limits(max_connections=self.lanes + 1, max_keepalive_connections=self.lanes + 1)
        headers = {"User-Agent": f"lineagelog/{version('lineagelog')}", **target.headers}
        self._client = httpx2.Client(
            headers=headers,
            timeout=target.timeout,
            limits=limits,
            transport=transport,
            verify=_trust(target),
            follow_redirects=False,  # a redirected POST may arrive as a GET, and the secret elsewhere
            trust_env=True,
        )
        self._credentials = Credentials(target.auth, self._client)
        self._batch = BatchForm.NEVER if target.kind is Kind.EGERIA else target.batch
        path, _, query = target.url.partition("?")
        self._batch_url = target.batch_url or f"{path.rstrip('/')}/batch{'?' if query else ''}{query}"

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def send(self, items: Sequence[Item]) -> list[Answer]:
        """One attempt: one request if the endpoint takes batches, else one per event up to the first trouble."""
        if self._batch is not BatchForm.NEVER and (len(items) > 1 or self._batch is not BatchForm.AUTO):
            answers = self._send_batch(items)
            if answers is not None:
                return answers
            self._batch = BatchForm.NEVER
        answers = []
        for item in items:
            answers.append(self._send_single(item))
            if answers[-1].verdict not in (Verdict.DELIVERED, Verdict.REFUSED):
                break
        return answers + [UNTRIED] * (len(items) - len(answers))

    def _send_single(self, item: Item) -> Answer:
        response = self._post(self._target.url, item.body)
        if isinstance(response, Answer):
            return response
        if self._target.kind is Kind.EGERIA and response.is_success:
            return _egeria_answer(response)
        return self._answer(response)

    def _send_batch(self, items: Sequence[Item]) -> list[Answer] | None:
        """None where the endpoint has no batches."""
        body = b"[" + b",".join(item.body for item in items) + b"]"
        if self._batch is BatchForm.EVENTS:
            body = b'{"events":' + body + b"}"
        response = self._post(self._batch_url, body)
        if isinstance(response, Answer):
            return [response] * len(items)
        if response.status_code in _NO_BATCH and self._batch is BatchForm.AUTO:
            return None
        if response.is_success:
            return _batch_answers(response, len(items))
        answer = self._answer(response)
        if answer.verdict is Verdict.REFUSED and len(items) > 1:
            answer = Answer(Verdict.SPLIT, answer.status, answer.detail)
        return [answer] * len(items)

    # --- one request ------------------------------------------------------------------------------------------------

    def _post(self, url: str, body: bytes) -> httpx2.Response | Answer:
        """The response; an Answer where there is none. A refused token is renewed once."""
        headers = {"Content-Type": "application/json"}
        if self._target.gzip:
            body = gzip.compress(body, _GZIP_LEVEL)
            headers["Content-Encoding"] = "gzip"
        try:
            response = self._client.post(url, content=body, headers=headers | self._credentials.headers())
            if response.status_code == 401 and self._credentials.can_renew:
                self._credentials.forget()
                response = self._client.post(url, content=body, headers=headers | self._credentials.headers())
        except TokenError as error:
            unreachable = error.status is None or error.status >= 500 or error.status in _BUSY
            return Answer(Verdict.AGAIN if unreachable else Verdict.HELD, error.status, str(error))
        except httpx2.TimeoutException as error:
            return Answer(Verdict.AGAIN, detail=f"no answer in time ({type(error).__name__})")
        except (httpx2.TransportError, OSError) as error:
            return Answer(Verdict.AGAIN, detail=mask_text(str(error))[:DETAIL_LENGTH] or type(error).__name__)
        return response

    def _answer(self, response: httpx2.Response) -> Answer:
        """The meaning of a response to one event, or to a batch as a whole."""
        status = response.status_code
        if response.is_success:
            return DELIVERED
        detail = f"HTTP {status}: {_text_of(response)}".rstrip(": ")
        if status in self._target.hold_on or status < 400:
            return Answer(Verdict.HELD, status, detail)
        if status in _BUSY:
            return Answer(Verdict.AGAIN, status, detail, _retry_after(response))
        if status >= 500:
            return Answer(Verdict.FAILED, status, detail, _retry_after(response))
        return Answer(Verdict.REFUSED, status, detail)


def _trust(target: ForwardTarget) -> ssl.SSLContext | bool:
    if target.ca_file is None:
        return True
    try:
        return ssl.create_default_context(cafile=str(target.ca_file))
    except OSError as error:
        raise SettingsError(f"'forward.{target.name}.ca_file': {target.ca_file} cannot be read: {error}") from error


def _batch_answers(response: httpx2.Response, count: int) -> list[Answer]:
    """What became of each event of a batch; a body of another shape says nothing against any of them."""
    answers = [DELIVERED] * count
    if not response.content.lstrip().startswith(b"{"):
        return answers
    try:
        failed = _BATCH_ANSWER.decode(response.content).failed_events
    except msgspec.MsgspecError:
        return answers
    for each in failed:
        if 0 <= each.index < count:
            detail = mask_text(f"{each.reason}: {each.message}".rstrip(": "))[:DETAIL_LENGTH]
            verdict = Verdict.FAILED if each.retriable else Verdict.REFUSED
            answers[each.index] = Answer(verdict, response.status_code, detail, _retry_after(response))
    return answers


def _egeria_answer(response: httpx2.Response) -> Answer:
    """Egeria answers HTTP 200 to everything; the true status is in the body's relatedHTTPCode."""
    try:
        body: Any = response.json()
        code = int(body["relatedHTTPCode"]) if isinstance(body, dict) and "relatedHTTPCode" in body else 200
    except (ValueError, TypeError):
        return DELIVERED
    if code < 300:
        return DELIVERED
    message = body.get("exceptionErrorMessage") or "no message"
    detail = f"relatedHTTPCode {code}: {mask_text(str(message))}"[:DETAIL_LENGTH]
    if code in (401, 403, 404):
        return Answer(Verdict.HELD, code, detail)
    return Answer(Verdict.REFUSED if code < 500 else Verdict.FAILED, code, detail)


def _text_of(response: httpx2.Response) -> str:
    return mask_text(" ".join(response.text.split()))[:DETAIL_LENGTH]


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
