"""Recorded findings over HTTP: the list, one of them, and what a person says of one: acknowledged, muted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

import msgspec
from msgspec import Struct

from lineagelog.analysis import Severity
from lineagelog.errors import InputError
from lineagelog.read import Reader
from lineagelog.read.period import parse_end
from lineagelog.server.answers import Refusal
from lineagelog.store.ledgers.episodes import FindingStatus
from lineagelog.store.ledgers.finding_rows import FindingFilter, FindingRow
from lineagelog.store.ledgers.findings import Findings
from lineagelog.store.ledgers.tokens import Grant

from .query import PAGE, WINDOW, Query, QueryParameter
from .reads import Read, page

PATH: Final = "/api/v1/findings"
MAX_BODY: Final = 16 * 1024
"""Bytes of what is said."""
_ONE: Final = f"{PATH}/{{finding_id:name}}"
_STATUSES: Final = (*FindingStatus, "ALL")
_SEVERITIES: Final = tuple(each.upper() for each in Severity)


class FindingRemark(Struct, frozen=True, forbid_unknown_fields=True):
    """What a person says of a finding."""

    by: str | None = None
    """Who says so; the token's name if absent."""
    until: str | None = None
    """Until then: 7d (s, m, h, d, w) from now, or 2027-03-01; until it is taken back if absent."""
    why: str | None = None


class Write(Struct, frozen=True, kw_only=True):
    """Something that is said of one finding with POST; it needs the scope admin."""

    path: str
    summary: str
    say: Callable[[Findings, UUID, dict[str, Any]], bool]
    answer: Any = FindingRow
    body: Any = FindingRemark


def _list(reader: Reader, query: Query, grant: Grant) -> Any:
    status, severity = query.choice("status", _STATUSES) or "OPEN", query.choice("severity", _SEVERITIES)
    analysis, window = query.text("analysis"), query.window()
    wanted = FindingFilter(
        statuses=None if status == "ALL" else (FindingStatus(status),),
        severity=None if severity is None else Severity(severity.lower()),
        analysis=None if analysis is None else analysis.replace("-", "_"),
        subject=query.text("subject"),
        namespace=query.text("namespace"),
        since=window.start,
        until=window.end,
        within=None if grant.namespaces is None else frozenset(grant.namespaces),
    )
    return page(reader.findings(wanted, reverse=query.reverse), query)


def _one(reader: Reader, query: Query, grant: Grant) -> Any:
    return known(reader, query.text("finding_id") or "", grant).document


def known(reader: Reader, text: str, grant: Grant) -> FindingRow:
    """The finding of that id, if the token may see it. Raises Refusal: 404."""
    try:
        row = reader.finding(UUID(text), within=grant.namespaces)
    except ValueError:
        row = None
    if row is None:
        raise Refusal(404, "not_found", "there is no finding of this id")
    return row


def said(write: Write, reader: Reader, findings: Findings, text: str, body: bytes, grant: Grant) -> Any:
    """Keep what is said, and give the finding as it is then. Raises Refusal: 400 for a body that is none, 404."""
    row = known(reader, text, grant)
    write.say(findings, row.finding_id, _words(body, grant))
    return known(reader, text, grant).document


def _words(body: bytes, grant: Grant) -> dict[str, Any]:
    try:
        remark = msgspec.json.decode(body, type=FindingRemark) if body.strip() else FindingRemark()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise Refusal(400, "bad_body", f"the body cannot be read: {problem}") from None
    if any("\0" in (each or "") for each in (remark.by, remark.why)):
        raise Refusal(400, "bad_body", "the body must not hold NUL")
    try:
        until = None if remark.until is None else parse_end(remark.until, datetime.now(UTC))
    except InputError as problem:
        raise Refusal(400, "bad_body", f"until: {problem}", path="$.until") from None
    return {"by": remark.by or grant.name, "until": until, "why": remark.why}


LIST: Final = Read(
    path=PATH,
    summary="Findings of recorded runs, last seen longest ago first",
    ask=_list,
    answer=FindingRow,
    parameters=(
        *WINDOW,
        QueryParameter("status", "Only of that status", {"type": "string", "enum": [*_STATUSES], "default": "OPEN"}),
        QueryParameter("severity", "Of that severity and above", {"type": "string", "enum": [*Severity]}),
        QueryParameter("analysis", "Name of the analysis"),
        QueryParameter("subject", "Name of the job or dataset"),
        QueryParameter("namespace", "Namespace of the subject; empty for those without one"),
        *PAGE,
    ),
    is_paged=True,
)
ONE: Final = Read(
    path=_ONE, summary="One finding", ask=_one, answer=FindingRow, may_miss=True, label=f"{PATH}/{{finding_id}}"
)
READS: Final = (LIST, ONE)
WRITES: Final = (
    Write(
        path=f"{_ONE}/acknowledge",
        summary="Acknowledge a finding: it stays open",
        say=lambda findings, key, words: findings.acknowledge(key, **words),
    ),
    Write(
        path=f"{_ONE}/mute",
        summary="Mute a finding: while it is open it is SUPPRESSED",
        say=lambda findings, key, words: findings.mute(key, **words),
    ),
    Write(
        path=f"{_ONE}/unmute",
        summary="Take a mute back",
        say=lambda findings, key, _: findings.unmute(key),
    ),
)
