"""`dead-letters` and `tokens`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lineagelog.event.parse import parse
from lineagelog.intake import Door
from tests.support import Ran, encode, event

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    Run = Callable[..., Ran]

NO_TIME = {**event("no-time"), "eventTime": "yesterday"}


def test_letters_are_listed_shown_and_discarded(run: Run) -> None:
    """The list names reason and place; show gives the exact bytes; a discarded letter is no longer new."""
    run("load", "-", stdin=b"nonsense\n" + encode(NO_TIME))
    rows = run("dead-letters", "list", "--json").rows
    assert [(row["reason"], row["position"]) for row in rows] == [("not_json", "stdin:1"), ("bad_time", "stdin:2")]
    assert len(run("dead-letters", "list").out.splitlines()) == 3  # with the header
    number = str(rows[1]["id"])
    assert json.loads(run("dead-letters", "show", number, "--payload").out) == NO_TIME
    shown = run("dead-letters", "show", number)
    assert "$.eventTime" in shown.out
    assert "yesterday" in run("dead-letters", "show", number, "--json").json["payload"]
    assert run("dead-letters", "discard", number).out == "discarded 1\n"
    assert [row["reason"] for row in run("dead-letters", "list", "--json").rows] == ["not_json"]
    assert len(run("dead-letters", "list", "--state", "all", "--json").rows) == 2
    assert run("dead-letters", "discard", "--all", "--json").json == {"discarded": 1}
    assert run("doctor").out.count("see `lineagelog dead-letters list`") == 0


def test_letters_that_are_refused_again(run: Run) -> None:
    """A retry of what is still wrong says so and ends with exit code 1; the letters stay new."""
    run("load", "-", stdin=b"nonsense\n" + encode(NO_TIME))
    ran = run("dead-letters", "retry", "--reason", "bad_time")
    assert (ran.code, ran.out) == (1, "stored 0 expired 0 refused again 1 cut off, not tried 0\n")
    assert run("dead-letters", "retry", "--json").json == {"stored": 0, "expired": 0, "refused": 2, "truncated": 0}
    assert len(run("dead-letters", "list", "--json").rows) == 2


def test_a_letter_that_is_fine_now_is_stored(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A version that reads more than the last one stores what that one refused."""
    run("load", "-", stdin=encode(NO_TIME))

    def newer(_: Door, body: bytes) -> Any:
        return parse(body.replace(b"yesterday", b"2026-03-01T08:00:00Z"))

    monkeypatch.setattr(Door, "parse", newer)
    ran = run("dead-letters", "retry")
    assert (ran.code, ran.out) == (0, "stored 1 expired 0 refused again 0 cut off, not tried 0\n")
    assert [row["run_id"] for row in run("list", "runs", "--json").rows] == ["no-time"]
    assert [row["state"] for row in run("dead-letters", "list", "--state", "all", "--json").rows] == ["retried"]


def test_mistakes_with_letters(run: Run) -> None:
    """A number that there is not, a state that there is not, and a discard of nothing in particular."""
    run("store", "init")
    assert "there is no dead letter 99" in run("dead-letters", "show", "99").err
    assert "is none of new, retried, discarded, all" in run("dead-letters", "list", "--state", "old").err
    assert ((ran := run("dead-letters", "discard")).code, "which ones?" in ran.err) == (2, True)


def test_tokens_are_made_listed_and_revoked(run: Run) -> None:
    """The token is alone on stdout and shown once; the list has no secret; a revoked one says so."""
    run("store", "init")
    made = run("tokens", "create", "airflow", "--expires", "90d")
    token = made.out.strip()
    assert (len(made.out.splitlines()), "keep it" in made.err) == (1, True)
    options = ("--scope", "read", "--scope", "ingest", "--namespace", "finance", "--json")
    bound = run("tokens", "create", "bi", *options).json
    assert (bound["scopes"], bound["namespaces"]) == (["ingest", "read"], ["finance"])
    listed = run("tokens", "list")
    assert token not in listed.out
    assert bound["token"] not in listed.out
    assert run("tokens", "revoke", "1").out == "revoked token 1\n"
    assert [row["state"] for row in run("tokens", "list", "--json").rows] == ["revoked", "valid"]


def test_mistakes_with_tokens(run: Run) -> None:
    """An unknown scope, an expiry in the past, a token that there is not: one line each, exit code 2."""
    run("store", "init")
    for arguments, message in (
        (("create", "x", "--scope", "everything"), "there is no scope 'everything'"),
        (("create", "x", "--expires", "2020-01-01"), "lies in the past"),
        (("revoke", "7"), "there is no valid token 7"),
    ):
        ran = run("tokens", *arguments)
        assert (ran.code, message in ran.err) == (2, True)
