"""One heavy event, or a heavy batch, keeps nobody waiting: it is written apart."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from lineagelog.event.sightings import MAX_DATASETS
from lineagelog.store import LogStore, Verifier
from tests.support import PATIENCE

from .client import BATCH, LINEAGE, count, encoded, event, request, rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .conftest import Serve


def with_inputs(number: int, entries: int) -> bytes:
    return json.dumps(event(number, inputs=[{"namespace": "n", "name": f"d{n}"} for n in range(entries)])).encode()


@pytest.mark.parametrize("heavy", ["event", "batch"])
def test_small_events_are_acknowledged_while_a_heavy_one_is_written(
    serve: Serve, store: LogStore, monkeypatch: pytest.MonkeyPatch, heavy: str
) -> None:
    """One by one, fewer than would call a second writer."""
    begun, goes_on = threading.Event(), threading.Event()
    append = LogStore.append

    def slow(self: LogStore, items: Sequence[Any], **options: Any) -> Any:
        if len(items) + sum(len(item.datasets) for item in items) > 2000:
            begun.set()
            assert goes_on.wait(PATIENCE)
        return append(self, items, **options)

    monkeypatch.setattr(LogStore, "append", slow)
    url = serve()
    body = with_inputs(99, 3000) if heavy == "event" else json.dumps([event(n) for n in range(1000, 3500)])
    answers: list[int] = []
    sender = threading.Thread(target=lambda: answers.append(request(url, BATCH, body, timeout=300).status))
    sender.start()
    assert begun.wait(PATIENCE)
    for number in range(5):
        assert request(url, LINEAGE, encoded(number)).status == 201
    goes_on.set()
    sender.join(PATIENCE)
    assert answers == [204]
    assert count(store) == (6 if heavy == "event" else 2505)


@pytest.mark.long
def test_more_datasets_than_the_digest_takes(serve: Serve, store: LogStore) -> None:
    """The event is stored whole, the first entries reach the digest, a notice says so, and rebuilding agrees."""
    body = with_inputs(1, MAX_DATASETS + 5)
    answer = request(serve(), LINEAGE, body)
    assert answer.status == 201
    assert [notice["code"] for notice in answer.json["notices"]] == ["too_many_datasets"]
    assert count(store, "ol_run_dataset") == MAX_DATASETS
    assert rows(store, "SELECT direction, count(*) FROM {ol_run_dataset} GROUP BY 1 ORDER BY 1") == [
        ("I", MAX_DATASETS - 1),
        ("O", 1),
    ]
    ((stored,),) = rows(store, "SELECT jsonb_array_length(event->'inputs') FROM {ol_event}")
    assert stored == MAX_DATASETS + 5
    assert list(Verifier(store).verify()) == []
