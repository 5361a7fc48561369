"""The documentation: what it shows is what happens."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from openlineage.client import OpenLineageClient

from lineagelog.forward import read_target
from tests.support import COMMAND, PATIENCE, ROOT, connect, encode, event, run_process, serve_process

from . import analyses_page, facts_page
from .cli_page import PAGE, page

if TYPE_CHECKING:
    from lineagelog.store import LogStore

README = (ROOT / "README.md").read_text(encoding="utf-8")
OPERATIONS = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")


def _blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_the_page_of_commands_is_current() -> None:
    """docs/cli.md is what the commands say: `python -m tests.docs.cli_page` writes it anew."""
    assert page() == PAGE.read_text(encoding="utf-8")


def test_the_list_of_analyses_is_current() -> None:
    """docs/analyses.md names what is declared: `python -m tests.docs.analyses_page` writes it anew."""
    text = analyses_page.PAGE.read_text(encoding="utf-8")
    assert analyses_page.page(text) == text


def test_the_list_of_facts_is_current() -> None:
    """docs/digest.md names what is declared: `python -m tests.docs.facts_page` writes it anew."""
    text = facts_page.PAGE.read_text(encoding="utf-8")
    assert facts_page.page(text) == text


def test_the_queries_of_the_views_run(store: LogStore, store_url: str) -> None:
    """Each query of docs/views.md, on a store with the views."""
    text = (ROOT / "docs" / "views.md").read_text(encoding="utf-8")
    queries = [query for block in _blocks(text, "sql") for query in block.split(";") if query.strip()]
    assert len(queries) > 3
    with connect(store_url) as connection:
        connection.execute("SET search_path TO openlineage")
        for query in queries:
            connection.execute(query.encode())


@pytest.mark.long
def test_the_readme_works(database_url: str) -> None:
    """The curl line is answered as the README says, and what it says to look at shows the run."""
    curl, look, *_ = _blocks(README, "sh")
    with serve_process("--database", database_url) as (_, port, _):
        words = shlex.split(curl.replace(":5000", f":{port}"))
        for answer in ('201 Created[^{]*{"status":"stored"}', '{"status":"duplicate"}'):
            done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
            assert re.search(answer, done.stdout, re.DOTALL), done
        said = [run_process(*shlex.split(line)[1:], LINEAGELOG_DATABASE=database_url) for line in look.splitlines()]
    assert [ran.code for ran in said] == [0, 0, 0]
    assert "first_job" in said[0].out
    assert "first_table" in said[1].out
    assert "42" in said[2].out


def test_the_readmes_settings_are_what_the_clients_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Airflow's lines are options of the section that is there already; the Python client takes each, key and all."""
    (lines,) = _blocks(README, "ini")
    section = f"[openlineage]\ndisabled = False\n{lines}"
    settings = [section, section.replace("# transport", "transport").replace("transport", "first", 1)]
    for text in settings:
        parser = configparser.ConfigParser(interpolation=None)
        parser.read_string(text)  # strict: an option or section that is there twice is an error
        transport = json.loads(parser["openlineage"]["transport"])
        client = OpenLineageClient(config={"transport": transport})
        assert client.transport.url == transport["url"]
        bearer = client.transport.config.auth.get_bearer()
        assert bearer == ("Bearer llg_..." if "auth" in transport else None)
    (yml,) = _blocks(README, "yaml")[:1]
    monkeypatch.setenv("OPENLINEAGE_CONFIG", str(tmp_path / "openlineage.yml"))
    (tmp_path / "openlineage.yml").write_text(yml.replace("# auth", "auth"))
    assert OpenLineageClient().transport.config.auth.get_bearer() == "Bearer llg_..."


@pytest.mark.long
def test_the_readme_looks_at_the_examples(database_url: str) -> None:
    """Each command under "Load files and look around" works on the example day and shows something."""
    (block,) = [block for block in _blocks(README, "sh") if "lineagelog load examples/" in block]
    for line in block.splitlines():
        words = shlex.split(line)
        environment = os.environ | {"LINEAGELOG_DATABASE": database_url}
        done = subprocess.run(
            [COMMAND, *words[1:]], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE
        )
        expected = 1 if words[1] == "doctor" else 0  # the tests' server has durability off
        assert (expected, True) == (done.returncode, len(done.stdout.splitlines()) > 0), (line, done)
        if words[1] == "load":
            assert done.stdout.startswith("read 90 stored 90 duplicate 0 expired 0 dead 0 in ")
        if words[1] == "list":
            assert len(done.stdout.splitlines()) > 1, line


@pytest.mark.long
def test_the_readmes_exports_work(tmp_path: Path, database_url: str) -> None:
    """The spec that it prints, and a pipeline of our own under the names it uses: each command writes events."""
    (spec,) = _blocks(README, "satsuma")
    (tmp_path / "platform.stm").write_text(spec)
    samples = ROOT / "tests" / "export" / "snaplogic" / "samples"
    for sample, name in (("files.slp", "orders.slp"), ("files.run.json", "run.json"), ("accounts.json",) * 2):
        shutil.copy(samples / sample, tmp_path / name)
    lines = [line for block in _blocks(README, "sh") for line in block.splitlines() if "lineagelog export" in line]
    environment = os.environ | {"LINEAGELOG_DATABASE": database_url}
    for line in lines:
        words = [COMMAND, *shlex.split(line, comments=True)[1:]]
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, (line, done.stderr)
    assert len(lines) == 5
    assert len(list((tmp_path / "lineage").glob("[!.]*"))) == 1
    assert len(list((tmp_path / "events").glob("[!.]*"))) == 6
    assert "daily-revenue" in run_process("list", "runs", "--database", database_url).out


@pytest.mark.long
def test_the_readme_forwards(tmp_path: Path, database_url: str) -> None:
    """Its section of the settings is a target; its commands forward to it, here to a file."""
    (section,) = _blocks(README, "toml")
    values = tomllib.loads(section)["forward"]["backup"]
    assert read_target("backup", values).is_served
    config = tmp_path / "lineagelog.toml"
    config.write_text(section.replace(values["url"], str(tmp_path / "copy.ndjson")))
    where = ("--config", str(config), "--database", database_url)
    assert run_process("load", "-", *where, stdin=encode(event("one"))).code == 0
    lines = [line for block in _blocks(README, "sh") for line in block.splitlines() if "lineagelog forward" in line]
    words = [shlex.split(line, comments=True)[1:] for line in lines]
    assert [each for each in words if "--follow" in each] == [["forward", "backup", "--follow"]]
    for each in words:
        ran = run_process(*(word for word in each if word != "--follow"), *where)
        assert (ran.code, ran.err, "backup" in ran.out) == (0, "", True)
    assert len((tmp_path / "copy.ndjson").read_bytes().splitlines()) == 1


def test_the_readme_links_every_page() -> None:
    """No page of the documentation is without a way to it."""
    pages = {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")}
    assert pages - set(re.findall(r"\]\(([^)#:]+)\)", README)) == set()


def test_the_readmes_links_lead_somewhere() -> None:
    """Every file it names is there."""
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert len(links) > 5
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_commands_that_pages_name_exist() -> None:
    """`lineagelog …` in README and operations are commands there are."""
    known = set(re.findall(r"^## lineagelog (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    named = re.findall(
        r"lineagelog ((?:list|store|tokens|dead-letters) [a-z-]+|serve|load|show|status|doctor|config)\b",
        README + OPERATIONS,
    )
    assert len(named) > 20
    assert set() == set(named) - known


@pytest.fixture
def roles(database_url: str) -> Iterator[str]:
    """The database with the roles of the runbook; they vanish with the test."""
    superuser, _ = _blocks(OPERATIONS, "sql")
    with connect(database_url, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(superuser.replace("DATABASE lineage ", f"DATABASE {name} ").encode())
        yield database_url
        for role in ("lineage_writer", "lineage_publisher", "lineage_reader", "lineage_forwarder", "lineage_owner"):
            connection.execute(f"DROP OWNED BY {role} CASCADE".encode())
            connection.execute(f"DROP ROLE {role}".encode())


@pytest.mark.long
def test_the_roles_of_the_runbook(roles: str, tmp_path: Path) -> None:
    """The GRANT statements as printed: owner, writer, reader, forwarder, publisher may do their work, and no more."""

    def as_role(role: str) -> str:
        return roles.replace("://lineagelog@", f"://lineage_{role}@")

    assert run_process("store", "init", "--months", "1", "--database", as_role("owner")).code == 0
    _, grants = _blocks(OPERATIONS, "sql")
    with connect(as_role("owner"), autocommit=True) as connection:
        connection.execute(grants.encode())
    now = datetime.now(UTC).isoformat()
    sent = encode(event("now", eventTime=now), {**event("bad"), "eventTime": "never"})
    loaded = run_process("load", "-", "--database", as_role("writer"), stdin=sent)
    assert (loaded.code, loaded.out.startswith("read 2 stored 1 duplicate 0 expired 0 dead 1 ")) == (1, True)
    refused = run_process("load", "-", "--database", as_role("writer"), stdin=encode(event("no partition")))
    assert (refused.code, "the database refuses writes: 2026-03 has no partition" in refused.err) == (2, True)
    assert refused.err.count("\n") == 1
    purged = run_process("store", "purge", "--older-than", "1s", "--database", as_role("writer"))
    assert (purged.code, "no permission to delete" in purged.err) == (2, True)
    again = run_process("load", "-", "--database", as_role("writer"), stdin=sent)
    assert again.out.startswith("read 2 stored 0 duplicate 1 expired 0 dead 1 ")
    with serve_process("--database", as_role("writer"), "--log-level", "error"):
        pass
    assert "now" in run_process("list", "runs", "--database", as_role("reader")).out
    assert run_process("load", "-", "--database", as_role("reader"), stdin=sent).code == 2
    assert run_process("tokens", "list", "--database", as_role("reader")).code == 2
    forwarded = run_process("forward", str(tmp_path / "f.ndjson"), "--database", as_role("forwarder"))
    assert (forwarded.code, forwarded.out.partition(": ")[2]) == (0, "delivered 1, parked 0, filtered 0\n")
    assert run_process("forward", "status", "--database", as_role("forwarder")).code == 0
    assert run_process("load", "-", "--database", as_role("forwarder"), stdin=sent).code == 2
    assert run_process("forward", str(tmp_path / "g.ndjson"), "--database", as_role("reader")).code == 2
    away = {"LINEAGELOG_EGERIA__PLATFORM_URL": "https://127.0.0.1:1", "LINEAGELOG_EGERIA__PYTHON": "/not/there"}
    window = ("--since", "-1d", "--until", "now", "--analysis", "run_profile")
    asked = ("publish", *window, "--database", as_role("publisher"))
    assert "cannot be started" in run_process(*asked, **away, LINEAGELOG_EGERIA__USER="somebody").err
    listed = run_process("publications", "list", "--json", "--database", as_role("publisher"))
    assert [json.loads(line)["name"] for line in listed.out.splitlines()] == ["job"]
    assert run_process("publications", "retry", "--database", as_role("publisher")).code == 0
    assert run_process("load", "-", "--database", as_role("publisher"), stdin=sent).code == 2
    advice = run_process("doctor", "--json", "--database", as_role("writer"))
    checks = {check["subject"]: check for check in json.loads(advice.out)["checks"]}
    assert "rights" in checks
    assert (checks["next partitions"]["advice"], checks["next partitions"]["observed"]) == (None, "are there")
    assert run_process("store", "purge", "--older-than", "1d", "--database", as_role("owner")).code == 0
