"""Receiving over HTTP: every path, every form of body, every status."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import text

from lineagelog.server.paths import BATCH as BATCH_PATHS
from lineagelog.server.paths import RECEIVING, SINGLE

from .client import BATCH, LINEAGE, count, encoded, event, request, rows, zipped

if TYPE_CHECKING:
    from pathlib import Path

    from lineagelog.store import LogStore


def test_single_event_is_created_and_a_duplicate_too(store: LogStore, url: str) -> None:
    """201 with the verdict; the same event with its keys in another order is a duplicate, and also 201."""
    first = request(url, LINEAGE, encoded())
    again = request(url, LINEAGE, json.dumps(event(), sort_keys=True, indent=2))
    assert (first.status, first.json) == (201, {"status": "stored"})
    assert (again.status, again.json) == (201, {"status": "duplicate"})
    assert rows(store, "SELECT run_id, status FROM {ol_run}") == [("run-0", "COMPLETE")]


@pytest.mark.parametrize("between", ["", "\n", "\r\n \t"])
@pytest.mark.parametrize("path", [LINEAGE, BATCH])
def test_documents_one_after_the_other_are_a_body(store: LogStore, url: str, path: str, between: str) -> None:
    """As `jq .` writes them, and as `cat` joins them: each is an event, and what is broken takes no other with it."""
    documents = [json.dumps(event(number), indent=2) for number in range(3)]
    answer = request(url, path, between.join([documents[0], documents[1], '{"eventTime": 1}', documents[2]]))
    assert answer.status in (200, 204, 207), answer.body
    assert rows(store, "SELECT run_id FROM {ol_run} ORDER BY 1") == [("run-0",), ("run-1",), ("run-2",)]
    assert rows(store, "SELECT count(*) FROM {ol_dead_letter}") == [(1,)]


@pytest.mark.parametrize("path", sorted(RECEIVING))
def test_every_path_receives_an_event_and_a_batch(store: LogStore, url: str, path: str) -> None:
    """With and without trailing slash, never a redirect; query parameters do not matter."""
    single = request(url, path + "?urlParam=1", encoded(1))
    batch = request(url, path, json.dumps([event(2), event(3)]))
    assert single.status == (204 if RECEIVING[path] else 201)
    assert batch.status == 204
    assert count(store) == 3


def test_all_known_clients_have_their_path() -> None:
    """The paths that clients of other backends are configured with."""
    assert set(SINGLE) == {
        "/api/v1/lineage",
        "/openapi/openlineage/api/v1/lineage",
        "/api/v2/lineage",
        "/api/v1/openlineage/lineage",
        "/api/openlineage/v1/lineage",
        "/api/lineage",
        "/v1/openlineage",
    }
    assert len(BATCH_PATHS) == len(SINGLE)


@pytest.mark.parametrize("path", [LINEAGE, BATCH])
@pytest.mark.parametrize("form", ["array", "envelope", "ndjson", "gzip"])
def test_forms_of_a_batch(store: LogStore, url: str, path: str, form: str) -> None:
    """A bare array, OpenMetadata's envelope, NDJSON, each also on the single path."""
    events = [event(number) for number in range(3)]
    lines = b"\n".join(map(encoded, range(3))) + b"\n"
    body = {
        "array": json.dumps(events).encode(),
        "envelope": json.dumps({"events": events}).encode(),
        "ndjson": lines,
        "gzip": zipped(lines),
    }[form]
    assert request(url, path, body).status == 204
    assert count(store) == 3


def test_batch_names_its_bad_members(store: LogStore, url: str) -> None:
    """200 with index, reason and path of what was refused; the rest is stored, a duplicate is a success."""
    members = [event(0), {"eventTime": "2026-03-02T10:00:00Z"}, event(1), event(2, eventTime="yesterday"), 7, event(0)]
    answer = request(url, BATCH, json.dumps(members))
    assert answer.status == 200
    assert answer.json["status"] == "partial_success"
    assert [(item["index"], item["reason"], item["path"]) for item in answer.json["failed_events"]] == [
        (1, "not_an_event", "$"),
        (3, "bad_time", "$.eventTime"),
        (4, "not_an_event", "$"),
    ]
    assert not any(item["retriable"] for item in answer.json["failed_events"])
    assert answer.json["summary"] | {"retriable": 0} == {
        "received": 6,
        "successful": 3,
        "failed": 3,
        "retriable": 0,
        "non_retriable": 3,
        "stored": 2,
        "duplicate": 1,
        "expired": 0,
    }
    assert (count(store), count(store, "ol_dead_letter")) == (2, 3)


@pytest.mark.parametrize("first", [b"{bad}", b'{"eventTime": "2026-03', b'"text"', b"[]"])
def test_broken_first_line_does_not_spoil_the_others(store: LogStore, url: str, first: bytes) -> None:
    """NDJSON whose first line is broken or cut off: that one is refused, the others are stored."""
    if first[:1] != b"{":
        first = b"{\n" + first
    answer = request(url, BATCH, b"\n".join((first, encoded(1), encoded(2))))
    assert (answer.status, answer.json["status"]) == (200, "partial_success")
    assert count(store) == 2


def test_broken_event_over_several_lines_is_one_event(store: LogStore, url: str) -> None:
    """An indented event that is broken is not taken for NDJSON: one dead letter with all of it."""
    body = json.dumps(event(), indent=1).encode()[:-20]
    assert request(url, LINEAGE, body).status == 400
    assert rows(store, "SELECT payload FROM {ol_dead_letter}") == [(body,)]


def test_empty_batch_is_fine(store: LogStore, url: str) -> None:
    """Nothing to store is no error."""
    assert request(url, BATCH, "[]").status == 204


@pytest.mark.parametrize(
    ("body", "reason", "path"),
    [
        (b"", "not_json", "$"),
        (b"{", "not_json", "$"),
        (b"[1, 2", "not_json", "$"),
        (b"\xff\xfe{}", "not_utf8", "$"),
        (b'"text"', "not_an_event", "$"),
        (b"{}", "not_an_event", "$"),
        (encoded(eventTime=None), "missing_field", "$.eventTime"),
        (encoded(run={}), "missing_field", "$.run.runId"),
        (encoded(job={"namespace": "n", "name": 7}), "wrong_type", "$.job.name"),
        (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "too_deep", "$"),
        (b"[" * 100_000, "not_json", "$"),
    ],
)
@pytest.mark.parametrize("target", [LINEAGE, BATCH])
def test_refused_event_is_400_with_reason_and_path_and_a_dead_letter(
    store: LogStore, url: str, body: bytes, reason: str, path: str, target: str
) -> None:
    """What cannot be an event, or a batch, as a whole: one 400, one dead letter with the bytes as received."""
    answer = request(url, target, body)
    found = answer.json["reason"]
    assert answer.status == 400
    assert found == reason or {found, reason} == {"not_json", "too_deep"}
    assert (answer.json["path"], answer.json["retriable"]) == (path, False)
    assert answer.json["message"].startswith(f"{found} at {path}")
    ((stored_reason, payload, source),) = rows(store, "SELECT reason, payload, source FROM {ol_dead_letter}")
    assert (stored_reason, bytes(payload), source) == (found, body, "http")


def test_expired_event_is_200_and_says_so(store: LogStore, url: str) -> None:
    """Older than the retention floor: not stored, and no error for the sender."""
    with store.engine.begin() as connection:
        connection.execute(text(f"UPDATE {store.schema.table('ol_store')} SET retention_floor = '2026-04-01'"))
    answer = request(url, LINEAGE, encoded())
    batch = request(url, BATCH, json.dumps([event(1), event(2, eventTime="2026-05-01T00:00:00Z")]))
    assert (answer.status, answer.json["status"]) == (200, "expired")
    assert (batch.status, batch.json["status"], batch.json["summary"]["expired"]) == (200, "success", 1)
    assert count(store) == 1


def test_notices_are_told_to_the_sender(url: str) -> None:
    """An accepted event that needed leniency says where."""
    answer = request(url, LINEAGE, encoded(eventTime="2026-03-02T10:00:00"))
    assert answer.json == {"status": "stored", "notices": [{"code": "time_without_zone", "path": "$.eventTime"}]}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Type": "application/json; charset=UTF-8"}, 201),
        ({"Content-Type": 'application/json;charset="utf-8"'}, 201),
        ({"Content-Type": "application/vnd.openlineage+json"}, 201),
        ({"Content-Type": "text/plain"}, 201),
        ({}, 201),
        ({"Content-Encoding": "identity"}, 201),
        ({"Content-Encoding": "br"}, 415),
        ({"Content-Encoding": "gzip, gzip"}, 415),
        ({"Content-Type": "application/json; charset=utf-16"}, 415),
        ({"Content-Type": "application/xml"}, 415),
        ({"Content-Type": "multipart/form-data; boundary=x"}, 415),
    ],
)
def test_content_types_and_encodings(store: LogStore, url: str, headers: dict[str, str], status: int) -> None:
    """Lenient with types, strict with what cannot be read as UTF-8 JSON."""
    answer = request(url, LINEAGE, encoded(), headers=headers)
    assert answer.status == status
    if "Content-Encoding" in headers and status == 415:
        assert "gzip" in answer.json["message"]
    assert count(store) == (1 if status == 201 else 0)


def test_gzip_with_and_without_header(store: LogStore, url: str) -> None:
    """Compressed with its header, without it, and a header over plain JSON: all one event."""
    gzip = {"Content-Encoding": "gzip"}
    statuses = [
        request(url, LINEAGE, zipped(encoded()), headers=gzip),
        request(url, LINEAGE, zipped(encoded())),
        request(url, LINEAGE, encoded(), headers=gzip),
    ]
    assert [answer.json["status"] for answer in statuses] == ["stored", "duplicate", "duplicate"]
    broken = request(url, LINEAGE, zipped(encoded())[:60], headers=gzip)
    assert (broken.status, broken.json["reason"]) == (400, "bad_encoding")
    assert (count(store), count(store, "ol_dead_letter")) == (1, 1)


def test_other_methods_and_paths(url: str) -> None:
    """405 with Allow on receiving paths, 404 elsewhere; a preflight needs no credentials."""
    assert request(url, LINEAGE).status == 405
    assert request(url, LINEAGE).headers["allow"] == "POST, OPTIONS"
    assert request(url, "/metrics", b"x").status == 405
    assert request(url, "/api/v1/namespaces").status == 404
    preflight = request(url, LINEAGE, method="OPTIONS", headers={"Access-Control-Request-Method": "POST"})
    assert preflight.status == 204
    assert "authorization" in preflight.headers["access-control-allow-headers"]


# --- the public cases, byte for byte ----------------------------------------------------------------------------------


def case(shared_dir: Path, number: str) -> dict[str, Any]:
    (path,) = (shared_dir / "cases").glob(f"{number}-*.json")
    return json.loads(path.read_text())


def test_case_07_nul_and_lone_surrogates(store: LogStore, url: str, shared_dir: Path) -> None:
    """Repaired, stored, COMPLETE; delivered again they are duplicates."""
    bodies = case(shared_dir, "07")["raw"]
    assert [request(url, LINEAGE, body).status for body in bodies] == [201] * len(bodies)
    assert {request(url, LINEAGE, body).json["status"] for body in bodies} == {"duplicate"}
    assert {status for (status,) in rows(store, "SELECT status FROM {ol_run}")} == {"COMPLETE"}
    assert rows(store, "SELECT count(*) FROM {ol_event} WHERE raw IS NOT NULL") == [(4,)]
    assert rows(store, "SELECT count(*) FROM {ol_run_dataset} WHERE dataset_name = 'tide\ufffdgauge'") == [(1,)]
    page = request(url, "/api/v1/events?content=true&limit=100").json
    assert any("C:\\u0000dir" in json.dumps(item["event"]).replace("\\\\", "\\") for item in page["items"])


def test_case_13_statistics_of_every_size(store: LogStore, url: str, shared_dir: Path) -> None:
    """a to g stored with the right figures, h and i refused and kept."""
    statuses = [request(url, LINEAGE, body).status for body in case(shared_dir, "13")["raw"]]
    assert statuses == [201] * 7 + [400] * 2
    figures = rows(
        store,
        "SELECT row_count, size_bytes FROM {ol_run_dataset} JOIN {ol_event} USING (run_id) ORDER BY arrival",
    )
    assert figures == [
        (3263939118, 5000000000),
        (12, None),
        (None, 7),
        (4, 1500),
        (812, None),
        (None, None),
        (None, 77),
    ]
    assert count(store, "ol_dead_letter") == 2


def test_case_18_batch_with_bad_members(store: LogStore, url: str, shared_dir: Path) -> None:
    """On the batch path and on the single path alike: 1, 3 and 6 fail for good, the rest is stored."""
    body = json.dumps(case(shared_dir, "18")["batch"])
    for path in (BATCH, LINEAGE):
        answer = request(url, path, body)
        assert answer.status == 200
        assert [item["index"] for item in answer.json["failed_events"]] == [1, 3, 6]
        assert not any(item["retriable"] for item in answer.json["failed_events"])
    assert count(store) == 5
    assert count(store, "ol_run_dataset") == 0


def test_case_19_gzip_without_header(store: LogStore, url: str, shared_dir: Path) -> None:
    """a, b and c are one event; half a body is 400; br is 415 and names gzip."""
    (document,) = case(shared_dir, "19")["deliver"]
    plain = json.dumps(document).encode()
    packed, gzip = zipped(plain), {"Content-Encoding": "gzip"}
    assert request(url, LINEAGE, packed, headers=gzip).status == 201
    assert request(url, LINEAGE, packed).json == {"status": "duplicate"}
    assert request(url, LINEAGE, plain, headers=gzip).json == {"status": "duplicate"}
    assert request(url, LINEAGE, packed[: len(packed) // 2], headers=gzip).status == 400
    wrong = request(url, LINEAGE, packed, headers={"Content-Encoding": "br"})
    assert (wrong.status, "gzip" in wrong.json["message"]) == (415, True)
    assert count(store) == 1
