"""Sends over HTTP: to any OpenLineage endpoint, in batches where it takes them, and to Egeria's publish endpoint."""

from __future__ import annotations

import gzip
import ssl
from collections.abc import Sequence
from importlib.metadata import version
from typing import Final

import httpx2

from lineagelog.errors import SettingsError
from lineagelog.exchange import post
from lineagelog.shown import mask_text
from lineagelog.store.ledgers.forwarding import Learnt

from .answers import BUSY, TOO_LARGE, answer_of, answers_of_batch
from .auth import Credentials, TokenError
from .learnt import Learning
from .sending import DETAIL_LENGTH, UNTRIED, Item, TargetAnswer, TargetVerdict
from .target import BatchForm, ForwardTarget, TargetKind

NO_BATCH: Final = frozenset((404, 405, 501))
"""What a server without a batch endpoint says."""
_DONE: Final = frozenset((TargetVerdict.DELIVERED, TargetVerdict.REFUSED))
_GZIP_LEVEL: Final = 3
_MAX_ANSWER: Final = 16 * 1024 * 1024
"""Bytes of an answer: far more than a batch whose every event has failed."""


class HttpSender:
    """Sends to one endpoint. Raises SettingsError for secrets or certificates that cannot be read."""

    file_size: int | None = None

    def __init__(
        self, target: ForwardTarget, learnt: Learnt | None = None, transport: httpx2.BaseTransport | None = None
    ) -> None:
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
        self._batch = BatchForm.NEVER if target.kind is TargetKind.EGERIA else target.batch
        path, _, query = target.url.partition("?")
        self._batch_url = target.batch_url or f"{path.rstrip('/')}/batch{'?' if query else ''}{query}"
        self._learning = Learning(target, learnt)

    @property
    def max_bytes(self) -> int | None:
        """Of a request with several events."""
        return self._learning.max_bytes

    @property
    def learnt(self) -> Learnt:
        """What the endpoint showed of itself, for the store to remember."""
        return self._learning.learnt

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def send(self, items: Sequence[Item]) -> list[TargetAnswer]:
        """One attempt: in one request if the endpoint takes batches, else one by one up to the first trouble."""
        if self._batch is BatchForm.AUTO:
            may_batch = len(items) > 1 and self._learning.batches is not False
            return self._send_as_learnt(items) if may_batch else self._send_singles(items)
        return self._send_singles(items) if self._batch is BatchForm.NEVER else self._send_batch(items)

    def _send_as_learnt(self, items: Sequence[Item]) -> list[TargetAnswer]:
        """A batch, and where it is refused, single events that show why: for being a batch, or for what is in it.

        The refusal is judged by what is known when it comes: another lane may have learnt meanwhile.
        """
        answers = self._send_batch(items)
        first, known = answers[0], self._learning.batches
        if first.verdict is TargetVerdict.HELD or first.status in NO_BATCH:
            return self._send_instead(items, first)
        if known or first.verdict not in (TargetVerdict.SPLIT, TargetVerdict.FAILED) or first.status == TOO_LARGE:
            return answers
        return self._send_pair(items, answers) if known is None else self._send_singles(items)

    def _send_instead(self, items: Sequence[Item], refusal: TargetAnswer) -> list[TargetAnswer]:
        """One by one what was refused as if there were no batch endpoint: or it is us that the target refuses."""
        was_taken = self._learning.batches
        self._learning.batches_doubted()
        answers = self._send_singles(items)
        is_taken = any(answer.verdict is TargetVerdict.DELIVERED for answer in answers)
        if is_taken and not was_taken and (refusal.status in NO_BATCH or self._still_refuses()):
            self._learning.batches_refused()
        return answers

    def _still_refuses(self) -> bool:
        """Whether the target refuses batches also now that it takes events: its trouble may have ended in between."""
        answer = self.ask_for_batches()
        return answer is not None and answer.verdict is TargetVerdict.HELD

    def _send_pair(self, items: Sequence[Item], answers: list[TargetAnswer]) -> list[TargetAnswer]:
        """The first two of a refused batch together, then each by itself: taken only singly, they prove the form wrong.

        Where they are taken together, the batch is refused for another event, or for its number.
        """
        pair, rest = items[:2], items[2:]
        together = self._send_batch(pair) if rest else answers
        if rest and all(answer.verdict in _DONE for answer in together):
            return together + answers[2:]
        if together[0].verdict is TargetVerdict.AGAIN:
            return together + [UNTRIED] * len(rest)
        if rest and any(answer.verdict in _DONE for answer in together):
            return together + [UNTRIED] * len(rest)
        singly = self._send_singles(pair)
        if all(answer.verdict is TargetVerdict.DELIVERED for answer in singly) and together[0].status != TOO_LARGE:
            self._learning.batches_refused()
        return singly + [UNTRIED] * len(rest)

    def _send_singles(self, items: Sequence[Item]) -> list[TargetAnswer]:
        answers: list[TargetAnswer] = []
        for item in items:
            answers.append(self.ask(self._target.url, item.body))
            if answers[-1].verdict not in _DONE:
                break
        return answers + [UNTRIED] * (len(items) - len(answers))

    def _send_batch(self, items: Sequence[Item]) -> list[TargetAnswer]:
        body = self._joined([item.body for item in items])
        response = self._post(self._batch_url, body)
        if isinstance(response, TargetAnswer):
            return [response] * len(items)
        answer = answer_of(self._target, response, is_batch=True)
        if answer.verdict is TargetVerdict.DELIVERED:
            self._learning.batch_taken(len(body))
            return answers_of_batch(response, len(items))
        if answer.verdict is TargetVerdict.REFUSED and len(items) > 1:
            answer = TargetAnswer(TargetVerdict.SPLIT, answer.status, answer.detail)
            if answer.status == TOO_LARGE:
                self._learning.too_large(len(body))
        return [answer] * len(items)

    def _joined(self, bodies: Sequence[bytes]) -> bytes:
        body = b"[" + b",".join(bodies) + b"]"
        return b'{"events":' + body + b"}" if self._batch is BatchForm.EVENTS else body

    # --- asking without sending -------------------------------------------------------------------------------------

    def ask(self, url: str, body: bytes) -> TargetAnswer:
        """What the endpoint says to one body."""
        response = self._post(url, body)
        return response if isinstance(response, TargetAnswer) else answer_of(self._target, response)

    def ask_for_batches(self) -> TargetAnswer | None:
        """What the endpoint says to a batch without events; None where none are sent to it."""
        return None if self._batch is BatchForm.NEVER else self.ask(self._batch_url, self._joined([]))

    # --- one request ------------------------------------------------------------------------------------------------

    def _post(self, url: str, body: bytes) -> httpx2.Response | TargetAnswer:
        """The response; an Answer where there is none. A refused token is renewed once."""
        headers = {"Content-Type": "application/json"}
        if self._target.gzip:
            body = gzip.compress(body, _GZIP_LEVEL)
            headers["Content-Encoding"] = "gzip"
        try:
            response = self._exchange(url, body, headers)
            if response.status_code == 401 and self._credentials.can_renew:
                self._credentials.forget()
                response = self._exchange(url, body, headers)
        except TokenError as error:
            unreachable = error.status is None or error.status >= 500 or error.status in BUSY
            return TargetAnswer(TargetVerdict.AGAIN if unreachable else TargetVerdict.HELD, error.status, str(error))
        except httpx2.TimeoutException as error:
            return TargetAnswer(TargetVerdict.AGAIN, detail=f"no answer in time ({type(error).__name__})")
        except (httpx2.TransportError, OSError) as error:
            return TargetAnswer(
                TargetVerdict.AGAIN, detail=mask_text(str(error))[:DETAIL_LENGTH] or type(error).__name__
            )
        return response

    def _exchange(self, url: str, body: bytes, headers: dict[str, str]) -> httpx2.Response:
        sent = headers | self._credentials.headers()
        return post(self._client, url, body, sent, timeout=self._target.timeout, most=_MAX_ANSWER)


def _trust(target: ForwardTarget) -> ssl.SSLContext | bool:
    if target.ca_file is None:
        return True
    try:
        return ssl.create_default_context(cafile=str(target.ca_file))
    except OSError as error:
        raise SettingsError(f"'forward.{target.name}.ca_file': {target.ca_file} cannot be read: {error}") from error
