"""Errors: one line on stderr, exit code 2, no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.support import COMMAND, PATIENCE, Ran, encode, event, run_here, run_process

if TYPE_CHECKING:
    from collections.abc import Callable

    from lineagelog.postgres.embedded import EmbeddedPostgres

    Run = Callable[..., Ran]

NOWHERE = "postgresql://me@127.0.0.1:1/nothing"


def _one_line(ran: Ran) -> str:
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("lineagelog: ")
    assert ran.err.count("\n") == 1
    return ran.err


@pytest.mark.parametrize(
    "command",
    [
        ("load", "-"),
        ("show", "r1"),
        ("status",),
        ("doctor",),
        ("list", "events"),
        ("store", "init"),
        ("store", "verify"),
        ("serve", "--port", "0"),
    ],
)
def test_an_unreachable_database(command: tuple[str, ...]) -> None:
    """Every command says that the database cannot be reached."""
    ran = run_here(*command, "--database", NOWHERE, stdin=encode(event()))
    assert "the database cannot be reached: " in _one_line(ran)


@pytest.mark.parametrize("name", ["", 'quo"te', "ä" * 32])
def test_a_schema_name_that_cannot_be(name: str, database_url: str) -> None:
    """Empty, with a quote, or longer than 63 bytes: refused before anything is done."""
    for command in (("load", "-"), ("store", "ddl"), ("list", "runs")):
        assert "schema" in _one_line(run_here(*command, "--schema", name, "--database", database_url, stdin=b""))


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_that_is_not_utf8(
    encoding: str, postgres: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`store init` says so in one line; nothing is made, and no command crashes on it."""
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    name = f"not_utf8_{encoding.lower()}"
    with psycopg.connect(postgres.dsn_of("postgres"), autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}' LOCALE 'C'".encode())
        try:
            url = postgres.url_of(name)
            said = _one_line(run_here("store", "init", "--database", url))
            assert said == f"lineagelog: the database has the encoding {encoding}: make one with ENCODING 'UTF8'\n"
            assert "run `lineagelog store init`" in _one_line(run_here("list", "runs", "--database", url))
            found = {
                check["subject"]: check for check in run_here("doctor", "--json", "--database", url).json["checks"]
            }
            assert found["encoding"]["observed"] == encoding
            assert "ENCODING 'UTF8'" in found["encoding"]["advice"]
            assert found["tables"]["advice"].startswith("first a database with the encoding UTF8")
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def test_a_store_that_is_not_there(run: Run) -> None:
    """Reading commands do not make tables in a given database, and say what to do."""
    assert "run `lineagelog store init`" in _one_line(run("list", "runs"))


def test_a_run_that_is_not_there(run: Run) -> None:
    """It is named."""
    run("store", "init")
    assert "there is no run 'r9' in the store" in _one_line(run("show", "r9"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--since", "last tuesday"), "'last tuesday' is no time: write 2026-03-01"),
        (("--json", "--csv"), "--json and --csv exclude each other"),
    ],
)
def test_options_that_make_no_sense(run: Run, arguments: tuple[str, ...], message: str) -> None:
    """They are named."""
    run("store", "init")
    assert message in _one_line(run("list", "runs", *arguments))


def test_a_role_that_may_only_read(
    run: Run, postgres: EmbeddedPostgres, postgres_admin: psycopg.Connection, database_url: str
) -> None:
    """It lists, its load is refused in one line, and `doctor` says what it lacks."""
    run("load", "-", stdin=encode(event()))
    plain = database_url.replace("+psycopg", "")
    with psycopg.connect(plain, autocommit=True) as owner:
        owner.execute("DROP ROLE IF EXISTS only_reads")
        owner.execute("CREATE ROLE only_reads LOGIN")
        owner.execute("GRANT USAGE ON SCHEMA openlineage TO only_reads")
        owner.execute("GRANT SELECT ON ALL TABLES IN SCHEMA openlineage TO only_reads")
    try:
        url = database_url.replace("://lineagelog@", "://only_reads@")
        assert "r1" in run_here("list", "runs", "--database", url).out
        ran = run_here("load", "-", "--database", url, stdin=encode(event("r2")))
        assert "the database role may not do this: permission denied" in _one_line(ran)
        found = run_here("doctor", "--database", url)
        assert (found.code, "only_reads may not write ol_event" in found.out) == (1, True)
    finally:
        with psycopg.connect(plain, autocommit=True) as owner:
            owner.execute("DROP OWNED BY only_reads")
            owner.execute("DROP ROLE only_reads")


def test_a_defect_is_one_line_unless_debugging(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even an error that nobody foresaw is one line; LINEAGELOG_DEBUG=1 shows where it was."""

    def broken(*_: object) -> None:
        raise RuntimeError("postgresql://me:s3cret@h/x broke\nin two lines")

    monkeypatch.setattr("lineagelog.settings.load_settings", broken)
    said = _one_line(run_here("status"))
    assert "internal error: RuntimeError: postgresql://me:***@h/x broke in two lines" in said
    monkeypatch.setenv("LINEAGELOG_DEBUG", "1")
    assert "Traceback" in run_here("status").err


@pytest.mark.long
def test_a_reader_that_has_enough(database_url: str) -> None:
    """`lineagelog list … | head` ends quietly when the pipe is closed."""
    run_process("load", "-", "--database", database_url, stdin=encode(*[event(f"r{n}") for n in range(3000)]))
    process = subprocess.Popen(
        [COMMAND, "list", "runs", "--database", database_url], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(PATIENCE) == 141


@pytest.mark.long
def test_no_traceback_from_the_process() -> None:
    """The installed command behaves so, too."""
    _one_line(run_process("status", "--database", NOWHERE))


@pytest.mark.long
def test_help_needs_no_database_libraries() -> None:
    """`--help` is quick because it imports neither SQLAlchemy nor pydantic nor the server."""
    code = (
        "import sys; sys.argv = ['lineagelog', '--help']\n"
        "from lineagelog.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'sqlalchemy', 'psycopg', 'pydantic', 'starlette', 'structlog'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=os.environ, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.long
@pytest.mark.parametrize("arguments", [["--version"], ["list", "runs"], ["analyse", "lineage_drift"]])
def test_only_serve_needs_the_server(arguments: list[str], store_url: str) -> None:
    """Commands that read the store import neither the framework nor the server below it."""
    code = (
        "import sys\n"
        "from lineagelog.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'starlette', 'uvicorn', 'prometheus_client'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    environment = os.environ | {"LINEAGELOG_DATABASE": store_url}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, env=environment, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
