"""What the server says: statuses, bodies, and the one shape that all refusals have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct, UnsetType

from lineagelog.errors import IntakeFull, LineageLogError, PartitionMissing, StoreError, StoreReadOnly, StoreUnavailable
from lineagelog.event.model import Event, Reason, Rejected
from lineagelog.intake import Outcome
from lineagelog.store import Verdict

RETRY_UNAVAILABLE: Final = 5
"""Seconds after which a client may find the database back."""
RETRY_READ_ONLY: Final = 10

type Headers = tuple[tuple[bytes, bytes], ...]

_JSON: Final = (b"content-type", b"application/json")


class Reply(Struct, frozen=True):
    """A whole response, itself an ASGI application."""

    status: int
    headers: Headers = ()
    body: bytes = b""

    async def __call__(self, _scope: Any, _receive: Any, send: Any) -> None:
        """Send status, headers and body, as an ASGI application does."""
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": self.body})


class Problem(Struct, frozen=True):
    """The body of every refusal."""

    code: int
    message: str
    reason: str
    path: str | None
    """JSON path in the event."""
    retriable: bool
    parameter: str | UnsetType = UNSET
    """The one that is refused."""


class Refusal(LineageLogError):
    """A request that is answered with an error, wherever in its handling that is found."""

    def __init__(
        self,
        status: int,
        reason: str,
        detail: str,
        *,
        path: str | None = None,
        parameter: str | None = None,
        retry_after: int | None = None,
        headers: Headers = (),
    ) -> None:
        super().__init__(_clean(detail))
        self.status, self.reason, self.headers = status, reason, headers
        self.path = None if path is None else _clean(path)
        self.parameter = parameter
        self.retry_after = retry_after

    @property
    def answer(self) -> Reply:
        """The response that says so."""
        place = f" at {self.path}" if self.path else ""
        body = Problem(
            code=self.status,
            message=f"{self.reason}{place}: {self}",
            reason=self.reason,
            path=self.path,
            retriable=self.retry_after is not None or self.status == 408 or self.status >= 500,
            parameter=UNSET if self.parameter is None else self.parameter,
        )
        headers = self.headers
        if self.retry_after is not None:
            headers = (*headers, (b"retry-after", str(self.retry_after).encode()))
        return json_answer(self.status, body, *headers)


def _clean(text: str) -> str:
    """Without the lone surrogates that a sender's names may hold: they have no UTF-8."""
    return text.encode("utf-8", "replace").decode()


def json_answer(status: int, body: Any, *headers: tuple[bytes, bytes]) -> Reply:
    """A JSON response; times become ISO 8601 with Z."""
    data = msgspec.json.encode(body)
    return Reply(status, (_JSON, (b"content-length", str(len(data)).encode()), *headers), data)


NO_CONTENT: Final = Reply(204)
_STORED: Final = json_answer(201, {"status": "stored"})
_DUPLICATE: Final = json_answer(201, {"status": "duplicate"})
_EXPIRED: Final = json_answer(
    200, {"status": "expired", "message": "older than the retention floor of this log store: not stored"}
)


def single(outcome: Outcome) -> Reply:
    """The answer for one event."""
    verdict, item = outcome.verdict, outcome.item
    if isinstance(item, Rejected):
        return refused(item).answer
    if verdict is Verdict.EXPIRED:
        return _EXPIRED
    if item.notices:
        return json_answer(201, {"status": verdict, "notices": _notices(item)})
    return _STORED if verdict is Verdict.STORED else _DUPLICATE


def _notices(event: Event) -> list[dict[str, str]]:
    return [{"code": notice.code, "path": notice.path} for notice in event.notices]


def refused(rejected: Rejected) -> Refusal:
    """The refusal that a rejected event is answered with. A 413 has no Retry-After: clients would send it again."""
    status = 413 if rejected.reason is Reason.TOO_LARGE else 400
    return Refusal(status, str(rejected.reason), rejected.detail, path=rejected.path)


SUMMARY: Final = (
    *("received", "successful", "failed", "retriable", "non_retriable"),
    *("stored", "duplicate", "expired"),
)
"""What is counted of a batch: as the specification has it, then ours."""

type Member = Outcome | Refusal
"""What became of one member of a batch; a Refusal for one that the sender's token does not allow."""


def batch(members: Sequence[Member]) -> Reply:
    """The answer for a batch: 204 if all of it is stored, else 200 with what is not.

    The shape is that of the batch endpoint of the OpenLineage specification (1.40): status, summary, failed_events.
    """
    failed = [
        _failed(index, refusal) for index, member in enumerate(members) if (refusal := _refusal_of(member)) is not None
    ]
    verdicts = [member.verdict for member in members if isinstance(member, Outcome)]
    expired = verdicts.count(Verdict.EXPIRED)
    if not failed and not expired:
        return NO_CONTENT
    status = "success" if not failed else "failure" if len(failed) == len(members) else "partial_success"
    counts = (len(members), len(members) - len(failed), len(failed), 0, len(failed))
    stored, duplicate = verdicts.count(Verdict.STORED), verdicts.count(Verdict.DUPLICATE)
    summary = dict(zip(SUMMARY, (*counts, stored, duplicate, expired), strict=True))
    return json_answer(200, {"status": status, "summary": summary, "failed_events": failed})


def _refusal_of(member: Member) -> Refusal | None:
    if isinstance(member, Refusal):
        return member
    return None if member.rejected is None else refused(member.rejected)


def _failed(index: int, refusal: Refusal) -> dict[str, Any]:
    return {
        "index": index,
        "reason": refusal.reason,
        "path": refusal.path,
        "message": str(refusal),
        "retriable": False,
    }


def not_stored(error: LineageLogError) -> Refusal:
    """The refusal for a delivery that could not be stored now: 503 with Retry-After, which clients heed."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, IntakeFull):
        return Refusal(503, "overloaded", str(error), retry_after=error.retry_after)
    if isinstance(error, StoreUnavailable):
        return Refusal(503, "database_unavailable", error.plain, retry_after=RETRY_UNAVAILABLE)
    if isinstance(error, PartitionMissing):
        return Refusal(503, "partition_missing", str(error), retry_after=RETRY_READ_ONLY)
    if isinstance(error, StoreReadOnly):
        return Refusal(503, "database_read_only", error.plain, retry_after=RETRY_READ_ONLY)
    detail = error.plain if isinstance(error, StoreError) else "the log store cannot store events now"
    return Refusal(503, "not_stored", detail, retry_after=RETRY_READ_ONLY)
