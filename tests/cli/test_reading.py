"""`list`, `show`, `status`, `doctor`, `store`: what people and programs see of a store."""

from __future__ import annotations

import csv
import gzip
import io
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from lineagelog.shown import duration
from lineagelog.store.definition import tables
from tests.support import ROOT, Ran, connect, encode, event, run_here

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[..., Ran]

EXAMPLE_FILES = ROOT / "examples"
FAILED = "79dfb72c-813e-5623-b672-6cda60951d07"


@pytest.fixture
def day(run: Run) -> Run:
    """A store with the example day."""
    assert run("load", str(EXAMPLE_FILES)).code == 0
    return run


@pytest.mark.long
@pytest.mark.parametrize(
    ("what", "count"), [("runs", 38), ("run-datasets", 65), ("assertions", 10), ("tests", 10), ("events", 90)]
)
def test_lists_in_every_form(day: Run, what: str, count: int) -> None:
    """Tab-separated when piped, NDJSON, CSV: the same rows in the same order, all of them."""
    tabs, rows = day("list", what), day("list", what, "--json").rows
    header, *lines = tabs.out.splitlines()
    table = list(csv.DictReader(io.StringIO(day("list", what, "--csv").out)))
    assert (count, count, count) == (len(lines), len(rows), len(table))
    names = header.split("\t")
    assert [row["run_id"] or "" for row in rows] == [line.split("\t")[names.index("run_id")] for line in lines]
    assert [row["run_id"] or "" for row in rows] == [row["run_id"] for row in table]
    assert set(table[0]) <= set(rows[0])


@pytest.mark.long
def test_filters(day: Run) -> None:
    """Window, job, namespace, dataset, status, direction and limit narrow a list."""

    def count(*arguments: str) -> int:
        return len(day("list", *arguments, "--json").rows)

    assert count("runs", "--since", "2026-11-20", "--until", "2026-11-21") == 38
    assert count("runs", "--since", "2026-11-21") == 0
    assert count("runs", "--status", "fail") == 3
    assert count("runs", "--job", "shop_ingest.extract_payments") == 2
    assert count("runs", "--namespace", "airflow-kestrel") == 14
    assert count("runs", "--limit", "5") == 5
    assert count("runs", "--limit", "0") == 38
    inputs, outputs = count("run-datasets", "--direction", "i"), count("run-datasets", "--direction", "O")
    assert (inputs + outputs, inputs > 0 < outputs) == (65, True)
    assert (count("assertions", "--failed"), count("tests", "--status", "fail")) == (2, 2)
    assert count("events", "--type", "start") < 90
    assert {"dwh.silver.orders"} == {
        row["dataset_name"] for row in day("list", "run-datasets", "--dataset", "dwh.silver.orders", "--json").rows
    }


def test_jobs_and_datasets_themselves(day: Run) -> None:
    """One row each, in every form and both orders; a text finds them."""
    for what, name in (("jobs", "job_name"), ("datasets", "dataset_name")):
        rows = day("list", what, "--json").rows
        names = [row[name] for row in rows]
        assert names
        assert len({(row[name], row[name.replace("_name", "_namespace")]) for row in rows}) == len(rows)
        assert [row[name] for row in csv.DictReader(io.StringIO(day("list", what, "--csv").out))] == names
        assert [row[name] for row in day("list", what, "--reverse", "--json").rows] == names[::-1]
        found = [row[name] for row in day("list", what, "--search", "ORDERS", "--json").rows]
        assert set(found) >= {each for each in names if "orders" in each} > set()
        assert (
            len(day("list", what, "--since", "2026-11-20", "--until", "2026-11-21").out.splitlines()) == len(rows) + 1
        )
    assert {row["last_outcome"] for row in day("list", "jobs", "--status", "fail", "--json").rows} == {"FAIL"}


def test_a_distance_from_now(run: Run) -> None:
    """`--since -1h` is an option's value although it begins with a dash."""
    now = datetime.now(UTC)
    run(
        "load",
        "-",
        stdin=encode(
            event("new", eventTime=(now - timedelta(minutes=5)).isoformat()),
            event("old", eventTime=(now - timedelta(days=3)).isoformat()),
        ),
    )
    assert [row["run_id"] for row in run("list", "runs", "--since", "-1h", "--json").rows] == ["new"]
    assert [row["run_id"] for row in run("list", "runs", "--until", "-1d", "--json").rows] == ["old"]


def test_raw_events_can_be_loaded_again(day: Run, database_url: str) -> None:
    """`list events --raw` is what `load` reads: another schema filled from it has an equal digest."""
    raw = day("list", "events", "--raw").out.encode()
    assert raw.count(b"\n") == 90
    ran = day("load", "-", "--schema", "again", stdin=gzip.compress(raw))
    assert ran.out.startswith("read 90 stored 90 ")
    assert day("list", "runs").out == day("list", "runs", "--schema", "again").out


def test_raw_keeps_what_jsonb_cannot_hold(run: Run) -> None:
    """An event with a NUL comes out as it came in, on one line."""
    sent = encode(event()).replace(b'"tests"', b'"a\\u0000b"').replace(b", ", b",\n")
    run("load", "-", stdin=sent.replace(b"\n", b" "))
    assert sent.replace(b"\n", b" ").strip() == run("list", "events", "--raw").out.encode().strip()


def test_event_content(day: Run) -> None:
    """With --content the event itself is a member of each row."""
    (row,) = day("list", "events", "--json", "--content", "--limit", "1").rows
    assert row["run_id"] == row["event"]["run"]["runId"]
    assert "event" not in day("list", "events", "--json", "--limit", "1").rows[0]


def test_show_tells_all_of_a_run(day: Run) -> None:
    """Facts, datasets, and the time line; the error message in full."""
    ran = day("show", FAILED)
    assert ran.code == 0
    for text in ("shop_ingest.extract_payments", "FAIL", "timeout expired", "landing/payments", "START"):
        assert text in ran.out
    found = day("show", FAILED, "--json").json
    assert {"runs", "datasets", "assertions", "tests", "events", "schemas", "column_lineage"} < set(found)
    assert [row["event_type"] for row in found["events"]] == ["START", "FAIL"]


def test_show_has_column_lineage_and_checks(day: Run) -> None:
    """A run with column lineage says for how many columns, one with assertions lists them."""
    join = "16dbadae-1fcd-5b13-8a3f-8fa96804d590"
    assert "5 columns" in day("show", join).out
    lineage = day("show", join, "--json").json["column_lineage"]
    assert max(len(each["fields"]) for each in lineage.values()) == 5
    tested = next(row["run_id"] for row in day("list", "tests", "--json").rows)
    assert "Tests" in day("show", tested).out
    asserted = next(row["run_id"] for row in day("list", "assertions", "--json").rows)
    assert "Assertions" in day("show", asserted).out


def test_status_counts(day: Run) -> None:
    """Rows per table, first and last event, version; the same figures in JSON."""
    found = day("status", "--json").json
    assert tuple(found["counts"][name] for name in ("ol_event", "ol_run", "ol_run_dataset", "ol_dead_letter")) == (
        90,
        38,
        65,
        0,
    )
    assert (found["schema"], found["version"]) == ("openlineage", tables.VERSION)
    assert found["first_event_time"] == "2026-11-20T00:00:00Z"
    text = day("status").out
    assert "ol_run_dataset                  65" in text
    assert "dead letters        none" in text


def test_verify_and_rebuild(day: Run, database_url: str) -> None:
    """verify ends with 1 and names what differs, changing nothing; rebuild puts it right."""
    assert _code_and_out(day("store", "verify")) == (0, "verified 38 runs, 88 events: no differences\n")
    with connect(database_url) as connection:
        connection.execute("UPDATE openlineage.ol_run SET status = 'WRONG' WHERE run_id = %s", (FAILED,))
    for _ in range(2):
        code, out = _code_and_out(day("store", "verify"))
        assert code == 1
        assert ".status: stored WRONG, expected FAIL" in out
        assert "1 difference" in out
    found = day("store", "verify", "--json").json
    assert (found["difference_count"], found["differences"][0]["column"]) == (1, "status")
    assert day("store", "rebuild").code == 0
    assert day("store", "verify").code == 0


def _code_and_out(ran: Ran) -> tuple[int, str]:
    return ran.code, ran.out


def test_ddl_makes_a_store(run: Run, database_url: str) -> None:
    """The printed statements, run by any client, make a store that `load` accepts as its own."""
    script = run("store", "ddl", "--schema", "by hand").out
    with connect(database_url, autocommit=True) as connection:
        connection.execute(script.encode())
    assert run("load", "-", "--schema", "by hand", stdin=encode(event())).out.startswith("read 1 stored 1 ")


def test_init_makes_partitions_for_roles_that_may_not(run: Run, database_url: str) -> None:
    """`store init --months 3` makes this month's partition and three more; again it changes nothing."""
    for _ in range(2):
        ran = run("store", "init", "--months", "3")
        assert (ran.code, "partitions are there for 4 months" in ran.out) == (0, True)
    names = [each["name"] for each in run("status", "--json").json["partitions"]]
    assert len(names) == 4 + 2  # two catch-alls


def test_doctor_is_content(day: Run) -> None:
    """On a healthy store it ends with 0, in both forms (durability is off in the tests' server)."""
    found = day("doctor", "--json").json
    assert [check["subject"] for check in found["checks"] if check["advice"]] == ["durability"]


def test_doctor_finds_what_is_wrong(run: Run) -> None:
    """A missing store, refused events, absurd and future times: each with advice, exit code 1."""
    ran = run("doctor")
    assert (ran.code, "run `lineagelog store init`" in ran.out) == (1, True)
    future = (datetime.now(UTC) + timedelta(days=2)).isoformat()
    run("load", "-", stdin=b"nonsense\n" + encode(event(eventTime="1970-01-01T00:00:00Z"), event(eventTime=future)))
    found = {check["subject"] + check["observed"]: check["advice"] for check in run("doctor", "--json").json["checks"]}
    advised = " ".join(subject for subject, advice in found.items() if advice)
    assert "dead letters1" in advised
    assert "there are events of 1970-01-01T00:00:00Z" in advised
    assert "in the future" in advised


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (timedelta(), "0 s"),
        (timedelta(milliseconds=437), "437 ms"),
        (timedelta(seconds=200), "3 min 20 s"),
        (timedelta(hours=2, minutes=5, seconds=3), "2 h 5 min"),
        (timedelta(days=4, hours=2, minutes=9), "4 d 2 h"),
    ],
)
def test_durations_for_people(span: timedelta, text: str) -> None:
    """The two largest units."""
    assert text == duration(span)


def test_a_table_for_people(day: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal: a table that says when it shows only the first rows."""
    from lineagelog.cli import lists
    from lineagelog.cli.printing import Form

    def table(**_: Any) -> Form:
        return Form.TABLE

    monkeypatch.setattr(lists, "form_of", table)
    monkeypatch.setenv("COLUMNS", "140")
    assert day("list", "runs").out.splitlines()[-1] == "38 runs"
    out = run_here("list", "events", "--limit", "3").out
    assert "3 events: the first ones; --limit 0 shows all, --since and --until narrow" in out
    assert "───" in out


def test_purge(day: Run) -> None:
    """A dry run counts and changes nothing; then what is old is gone, and is not stored again."""
    would = day("store", "purge", "--older-than", "2026-11-20T12:00:00Z", "--dry-run", "--json").json
    assert (would["dry_run"], 0 < would["events"] < 90) == (True, True)
    assert len(day("list", "events", "--json").rows) == 90
    ran = day("store", "purge", "--older-than", "2026-11-20T12:00:00Z")
    assert ran.out.startswith(f"deleted what is before 2026-11-20T12:00:00Z: {would['events']} events ")
    assert 90 - would["events"] == len(day("list", "events", "--json").rows)
    again = day("load", str(EXAMPLE_FILES), "--json").json
    assert (would["events"], 0) == (again["expired"], again["stored"])
    assert day("store", "verify").code == 0


def test_purge_by_age(day: Run) -> None:
    """90d is an age; what is no age is an error."""
    assert day("store", "purge", "--older-than", "36500d").code == 0
    ran = day("store", "purge", "--older-than", "soon")
    assert (ran.code, "'soon' is no time" in ran.err) == (2, True)
    before = day("list", "events").out
    for text in ("-5d", "+5d", "0d", "now", "2099-01-01", "1.5d", ""):
        ran = day("store", "purge", "--older-than", text)
        assert (ran.code, ran.err.count("\n")) == (2, 1), text
    assert day("list", "events").out == before
