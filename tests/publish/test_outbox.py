"""The outbox: what is planned once is sent once, by any number of publishers, whatever becomes of them."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from lineagelog.errors import EgeriaRefused, EgeriaUnavailable, EgeriaUnfit
from lineagelog.publish import Publisher, plan
from lineagelog.publish.item import PlanItem
from lineagelog.store import LogStore
from lineagelog.store.ledgers.publications import OutboxState, Publications

from .documents import document, finding, profile, quality


class Catalogue:
    """Knows a process for each job, and notes the calls that change something."""

    def __init__(self) -> None:
        self.changes: list[str] = []
        self.error: Exception | None = None

    def call(self, name: str, *, pages: bool = False, **arguments: Any) -> Any:
        if self.error is not None:
            raise self.error
        if name == "find":
            wanted = arguments["property_value"]
            header = {"guid": f"guid of {wanted}", "type": {"typeName": "Process"}}
            properties = {"qualifiedName": f"Process::ns::{wanted}", "resourceName": wanted, "namespacePath": "ns"}
            return [] if wanted == "nobody" else [{"elementHeader": header, "properties": properties}]
        if name in ("related", "get"):
            return []
        self.changes.append(f"{name} {arguments.get('metadata_element_guid')}")
        return "guid"


@pytest.fixture
def outbox(store: LogStore) -> Publications:
    return Publications(store.database)


def wishes(*names: str, **properties: str) -> list[PlanItem]:
    return plan([document("run_profile", *(profile(name, **properties) for name in names))])


def test_planned_once_and_sent_once(outbox: Publications) -> None:
    catalogue = Catalogue()
    publisher = Publisher(outbox, catalogue)
    assert publisher.keep(wishes("a", "b"), days_kept=3) == 2
    assert publisher.publish().confirmed == 2
    assert publisher.keep(wishes("a", "b"), days_kept=3) == 0
    assert publisher.publish().confirmed == 0
    assert sorted(catalogue.changes) == ["classify guid of a", "classify guid of b"]
    assert publisher.keep(wishes("a", "b", failedRuns="1"), days_kept=3) == 2
    assert outbox.counts()[OutboxState.PLANNED] == 2


def test_egeria_is_away(outbox: Publications) -> None:
    """Nothing is lost, and nothing counts as an attempt; when it is there again, all is sent."""
    catalogue = Catalogue()
    publisher = Publisher(outbox, catalogue)
    publisher.keep(wishes("a", "b"), days_kept=3)
    for error in (EgeriaUnavailable("away"), EgeriaUnfit("its certificate is not trusted")):
        catalogue.error = error
        with pytest.raises(type(error)):
            publisher.publish()
        assert [item.attempts for item in outbox.list()] == [0, 0]
    catalogue.error = None
    assert publisher.publish().confirmed == 2


def test_a_refusal_is_parked_with_what_egeria_says(outbox: Publications) -> None:
    catalogue = Catalogue()
    publisher = Publisher(outbox, catalogue)
    publisher.keep(wishes("a"), days_kept=3)
    catalogue.error = EgeriaRefused("OMAG-1 no", code=400, message_id="OMAG-1", user_action="Do it otherwise.")
    report = publisher.publish()
    assert (report.parked, dict(report.problems)) == (1, {"OMAG-1": 1})
    (item,) = outbox.list([OutboxState.PARKED])
    assert (item.problem, item.message_id, item.user_action) == ("OMAG-1 no", "OMAG-1", "Do it otherwise.")
    catalogue.error = None
    assert publisher.publish().confirmed == 0
    assert outbox.retry([item.id]) == 1
    assert publisher.publish().confirmed == 1
    (item,) = outbox.list()
    assert (item.state, item.problem, item.message_id) == (OutboxState.CONFIRMED, None, None)


def test_a_failure_is_tried_again_later(outbox: Publications) -> None:
    catalogue = Catalogue()
    publisher = Publisher(outbox, catalogue, draw=lambda: 1.0)
    publisher.keep(wishes("a"), days_kept=3)
    catalogue.error = EgeriaUnavailable("HTTP 503", is_away=False)
    assert publisher.publish().failed == 1
    (item,) = outbox.list()
    assert item.state == OutboxState.FAILED and item.next_try - item.planned_at >= timedelta(seconds=4)
    catalogue.error = None
    assert publisher.publish().confirmed == 0, "it is not due yet"
    outbox.retry()
    assert publisher.publish().confirmed == 1


def test_who_is_not_known_to_egeria_is_said(outbox: Publications) -> None:
    publisher = Publisher(outbox, Catalogue())
    publisher.keep(wishes("nobody"), days_kept=3)
    assert publisher.publish().unknown == 1
    (item,) = outbox.list([OutboxState.UNKNOWN])
    assert item.problem == "Egeria knows no job ns/nobody"
    assert publisher.keep(wishes("nobody"), days_kept=3) == 1, "it may be known by now"


def test_several_publishers_share_the_work(outbox: Publications, store: LogStore) -> None:
    catalogue = Catalogue()
    Publisher(outbox, catalogue).keep(wishes(*(f"job {number}" for number in range(40))), days_kept=3)
    threads = [threading.Thread(target=Publisher(outbox, catalogue).publish) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(Counter(catalogue.changes).values()) == 1 and len(catalogue.changes) == 40
    assert outbox.counts()[OutboxState.CONFIRMED] == 40


def test_what_a_dead_publisher_had_taken_is_anothers_when_the_lease_is_over(
    outbox: Publications, store: LogStore
) -> None:
    publisher = Publisher(outbox, Catalogue())
    publisher.keep(wishes("a"), days_kept=3)
    assert outbox.take() is not None
    assert outbox.take() is None
    with store.database.engine.begin() as connection:
        connection.execute(text(f'UPDATE "{store.database.schema}".ol_publication SET lease_until = now()'))
    assert publisher.publish().confirmed == 1


def test_content_that_changes_while_it_is_sent_is_sent_again(outbox: Publications) -> None:
    publisher = Publisher(outbox, Catalogue())
    publisher.keep(wishes("a"), days_kept=3)
    item = outbox.take()
    assert item is not None
    publisher.keep(wishes("a", failedRuns="1"), days_kept=3)
    assert outbox.take() is None, "somebody is at it"
    outbox.confirm(item, {})
    again = outbox.take()
    assert again is not None and again.content["additionalProperties"]["failedRuns"] == "1"


def test_the_last_days_of_a_report_are_kept(outbox: Publications) -> None:
    publisher = Publisher(outbox, Catalogue())
    for day in range(1, 6):
        told = document("quality_summary", quality("job", "a", overall=97))
        told["window"] = {"from": None, "to": f"2026-09-0{day}T10:00:00+00:00"}
        publisher.keep(plan([told]), days_kept=2)
    assert {item.day: item.state for item in outbox.list()} == {
        "2026-09-01": OutboxState.RETIRED,
        "2026-09-02": OutboxState.RETIRED,
        "2026-09-03": OutboxState.RETIRED,
        "2026-09-04": OutboxState.PLANNED,
        "2026-09-05": OutboxState.PLANNED,
    }
    report = publisher.publish()
    assert (report.withdrawn, report.confirmed) == (3, 2)
    assert [item.day for item in outbox.list()] == ["2026-09-04", "2026-09-05"]


def test_what_is_listed(outbox: Publications) -> None:
    publisher = Publisher(outbox, Catalogue())
    publisher.keep(plan([document("late_run", findings=(finding("a", kind="job"),))]) + wishes("b"), days_kept=3)
    assert [item.kind for item in outbox.list(kinds=["findings"])] == ["findings"]
    (item,) = outbox.list(kinds=["run_metrics"])
    assert outbox.get(item.id) == item
    assert outbox.get(UUID(int=0)) is None
