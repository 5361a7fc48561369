"""What the reply to a batch says of its events, in either spelling that there is."""

from __future__ import annotations

import json

import httpx2
import pytest

from lineagelog.forward.answers import answers_of_batch
from lineagelog.forward.sending import DELIVERED, TargetVerdict


@pytest.mark.parametrize("member", ["failed_events", "failedEvents"])
def test_failed_events_are_read_in_snake_and_in_camel_case(member: str) -> None:
    """OpenLineage's own receivers write the one, OpenMetadata the other."""
    failed = [
        {"index": 1, "reason": "no such job", "retriable": False},
        {"index": 2, "reason": "later", "retriable": True},
    ]
    response = httpx2.Response(200, content=json.dumps({"status": "partial_success", member: failed}).encode())
    answers = answers_of_batch(response, 3)
    assert answers[0] is DELIVERED
    assert [each.verdict for each in answers[1:]] == [TargetVerdict.REFUSED, TargetVerdict.FAILED]
