"""What identifies an event: kind, run id, time, type, job; and what a refused one still says."""

from __future__ import annotations

from typing import Any

import pytest

from lineagelog.event import Event, EventKind, Reason, Rejected, parse

from .event_samples import RUN_ID, accepted, notices, refused, run_event, text_of

JOB_EVENT = {"eventTime": "2026-03-02T08:00:00Z", "job": {"namespace": "prod", "name": "load"}, "producer": "p"}
DATASET_EVENT = {"eventTime": "2026-03-02T08:00:00Z", "dataset": {"namespace": "db", "name": "t"}, "producer": "p"}


def test_a_run_event_says_who_when_and_what() -> None:
    """Identity, job, producer, type."""
    event = accepted(run_event())
    assert (event.kind, event.run_id, event.event_type) == (EventKind.RUN, RUN_ID, "COMPLETE")
    assert event.event_time.isoformat() == "2026-03-02T08:00:00+00:00"
    assert (event.job_namespace, event.job_name) == ("prod", "load.orders")
    assert event.producer == "https://example.invalid/emitter/1"
    assert event.run is not None
    assert event.run.status == "COMPLETE"
    assert event.key == (RUN_ID, event.event_time, "COMPLETE", event.event_hash)


def test_job_and_dataset_events_have_no_run_and_say_nothing_of_runs() -> None:
    """run_id and event_type are empty; what they name is seen, and read or written by no run."""
    job = accepted(JOB_EVENT | {"inputs": [{"namespace": "db", "name": "t"}]})
    assert (job.kind, job.run_id, job.event_type, job.job_name) == (EventKind.JOB, "", "", "load")
    assert (job.run, job.assertions, job.tests) == (None, (), ())
    assert [(each.namespace, each.name) for each in job.datasets] == [("db", "t")]
    dataset = accepted(DATASET_EVENT)
    assert (dataset.kind, dataset.run_id, dataset.job_namespace, dataset.job_name) == (EventKind.DATASET, "", "", "")


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (RUN_ID.upper(), RUN_ID),
        ("Run-77", "Run-77"),
        ("0B0F0F1E5D0A5A5E9A552F4C1D5A7C01", "0B0F0F1E5D0A5A5E9A552F4C1D5A7C01"),
        ("a\x00b", "a\ufffdb"),
        ("é" * 256, "é" * 256),
    ],
)
def test_a_run_id_is_text_and_a_uuid_is_lower_case(sent: str, kept: str) -> None:
    """Real producers send ids that are no UUIDs; up to 512 bytes."""
    assert accepted(run_event(run={"runId": sent})).run_id == kept


@pytest.mark.parametrize(
    ("sent", "kept", "status"),
    [
        ("complete", "COMPLETE", "COMPLETE"),
        ("Running", "RUNNING", "RUNNING"),
        ("OTHER", "OTHER", "OTHER"),
        ("HEARTBEAT", "HEARTBEAT", "OTHER"),
        ("UNKNOWN", "UNKNOWN", "UNKNOWN"),
        ("x" * 64, "X" * 64, "OTHER"),
    ],
)
def test_an_event_type_is_upper_case_and_an_unknown_one_counts_as_other(sent: str, kept: str, status: str) -> None:
    """The type is kept as sent but for case."""
    event = accepted(run_event(eventType=sent))
    assert event.run is not None
    assert (event.event_type, event.run.status) == (kept, status)


@pytest.mark.parametrize(
    ("sent", "code"), [(None, "no_event_type"), ("", "no_event_type"), (5, "not_a_text"), (["START"], "not_a_text")]
)
def test_an_event_without_a_type_is_unknown(sent: Any, code: str) -> None:
    """Kept, with a notice."""
    event = accepted(run_event(eventType=sent))
    assert event.run is not None
    assert (event.event_type, event.run.status) == ("UNKNOWN", "UNKNOWN")
    assert notices(event) == [f"{code} at $.eventType"]


def test_a_time_without_zone_is_noticed() -> None:
    """Taken as UTC, and counted."""
    assert notices(accepted(run_event(eventTime="2026-03-02T08:00:00"))) == ["time_without_zone at $.eventTime"]


@pytest.mark.parametrize(
    ("members", "reason", "path"),
    [
        ({"run": None, "job": None}, Reason.NOT_AN_EVENT, "$"),
        ({"run": 5}, Reason.WRONG_TYPE, "$.run"),
        ({"run": []}, Reason.WRONG_TYPE, "$.run"),
        ({"run": {}}, Reason.MISSING_FIELD, "$.run.runId"),
        ({"run": {"runId": None}}, Reason.MISSING_FIELD, "$.run.runId"),
        ({"run": {"runId": ""}}, Reason.MISSING_FIELD, "$.run.runId"),
        ({"run": {"runId": 7}}, Reason.WRONG_TYPE, "$.run.runId"),
        ({"run": {"runId": {"a": 1}}}, Reason.WRONG_TYPE, "$.run.runId"),
        ({"run": {"runId": "é" * 257}}, Reason.TOO_LONG, "$.run.runId"),
        ({"eventType": "é" * 33}, Reason.TOO_LONG, "$.eventType"),
        ({"job": None}, Reason.MISSING_FIELD, "$.job"),
        ({"job": "load"}, Reason.WRONG_TYPE, "$.job"),
        ({"job": {"namespace": "prod"}}, Reason.MISSING_FIELD, "$.job.name"),
        ({"job": {"namespace": "prod", "name": ""}}, Reason.MISSING_FIELD, "$.job.name"),
        ({"job": {"namespace": "prod", "name": 1}}, Reason.WRONG_TYPE, "$.job.name"),
        ({"job": {"namespace": 1, "name": "load"}}, Reason.WRONG_TYPE, "$.job.namespace"),
        ({"job": {"namespace": "prod", "name": "n" * 65_537}}, Reason.TOO_LONG, "$.job.name"),
        ({"job": {"namespace": "é" * 32_769, "name": "n"}}, Reason.TOO_LONG, "$.job.namespace"),
        ({"inputs": [{"namespace": "db", "name": "n" * 65_537}]}, Reason.TOO_LONG, "$.inputs[0].name"),
        ({"outputs": [{"namespace": "n" * 65_537, "name": "t"}]}, Reason.TOO_LONG, "$.outputs[0].namespace"),
        ({"eventTime": None}, Reason.MISSING_FIELD, "$.eventTime"),
        ({"eventTime": ""}, Reason.MISSING_FIELD, "$.eventTime"),
        ({"eventTime": 1772438400}, Reason.WRONG_TYPE, "$.eventTime"),
        ({"eventTime": "2026-03-02"}, Reason.BAD_TIME, "$.eventTime"),
        ({"eventTime": "yesterday"}, Reason.BAD_TIME, "$.eventTime"),
    ],
)
def test_what_identifies_an_event_must_be_there(members: dict[str, Any], reason: Reason, path: str) -> None:
    """Each refusal names its reason and its place, keeps the bytes, and reads as one line."""
    outcome = refused(run_event(**members))
    assert (outcome.reason, outcome.path) == (reason, path)
    assert outcome.payload == text_of(run_event(**members))
    assert "\n" not in str(outcome)


def test_names_of_64_kib_are_kept() -> None:
    """Bytes of UTF-8, not characters."""
    names = {"namespace": "é" * 32_768, "name": "n" * 65_536}
    event = accepted(run_event(job=names, inputs=[names]))
    assert (event.job_namespace, event.job_name) == (names["namespace"], names["name"])
    assert (event.datasets[0].namespace, event.datasets[0].name) == (names["namespace"], names["name"])


def test_a_refused_event_says_whatever_names_it() -> None:
    """Texts only, mended, cut to 512 characters; what is missing or no text is None."""
    outcome = refused(run_event(eventTime="soon\ud800", run={"runId": "r" * 600}, job={"namespace": 5, "name": "load"}))
    assert (outcome.run_id, outcome.job_namespace, outcome.job_name) == ("r" * 512, None, "load")
    assert (outcome.event_type, outcome.event_time) == ("COMPLETE", "soon\ufffd")


@pytest.mark.parametrize("value", [None, 5, "producer\x00", ["p"], {"a": 1}, ""])
def test_the_producer_may_be_anything(value: Any) -> None:
    """Only a text is kept."""
    kept = accepted(run_event(producer=value)).producer
    assert kept == (value.replace("\x00", "\ufffd") if isinstance(value, str) else "")


def test_a_missing_namespace_is_empty_text() -> None:
    """Stored as '' and read back as missing."""
    assert accepted(run_event(job={"name": "load"})).job_namespace == ""
    assert accepted(run_event(job={"name": "load", "namespace": None})).job_namespace == ""


def test_a_further_check_can_refuse() -> None:
    """It sees the decoded tree; a tree that is refused anyway never reaches it."""
    seen: list[Any] = []

    def check(tree: Any) -> tuple[str, str] | None:
        seen.append(tree)
        return ("$.job", "not this one") if tree["job"]["name"] == "bad" else None

    assert isinstance(parse(text_of(run_event()), check=check), Event)
    outcome = parse(text_of(run_event(job={"name": "bad"})), check=check)
    assert isinstance(outcome, Rejected)
    assert (outcome.reason, outcome.path, outcome.detail) == (Reason.SCHEMA, "$.job", "not this one")
    assert isinstance(parse(b"[]", check=check), Rejected)
    assert len(seen) == 2
