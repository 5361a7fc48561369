"""The files of SQL are whole by themselves: psql runs them, and their variables are the analyses' parameters."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from lineagelog.analysis import analyses, analysis_named
from lineagelog.errors import InputError, StoreNotCreated
from lineagelog.read.analyses import EVERYTHING
from lineagelog.read.analyses import ask as ask_store
from lineagelog.read.script import run_script, variables
from lineagelog.resources import sql_text
from lineagelog.store import Database, open_engine
from tests.support import PATIENCE, ROOT

from .support import ask, dataset, day, load, run, window

if TYPE_CHECKING:
    from lineagelog.postgres.embedded import EmbeddedPostgres
    from lineagelog.store import LogStore

BLAST = {"dataset": "it's a", "dataset_namespace": "p"}


@pytest.mark.parametrize("name", analyses())
def test_variables_are_parameters(name: str) -> None:
    """The window's two, the clock, and those that the declaration names; some of these are for what is explained."""
    parameters = {parameter.name for parameter in analyses()[name].parameters}
    used = variables(sql_text(analyses()[name].script))
    assert {"from", "to"} <= used <= parameters | {"from", "to", "as_of"} | EVERYTHING.variables.keys()


def test_every_script_has_its_class() -> None:
    """And the other way round."""
    assert {file.stem for file in (ROOT / "sql" / "analyses").glob("*.sql")} == set(analyses())


@pytest.mark.parametrize("name", analyses())
@pytest.mark.parametrize("schema_name", ["a store"])
def test_psql_runs_the_script_as_it_is(store: LogStore, store_url: str, postgres: EmbeddedPostgres, name: str) -> None:
    """With \\set variables and search_path, as its first lines say."""
    load(store, *(run("job", day(each), [dataset("a")], [dataset("b")]) for each in range(3)))
    times = {"from": "2026-03-01", "to": "2026-03-09", "as_of": "2026-03-09"}
    settings = times | EVERYTHING.variables | analyses()[name].values(BLAST if analyses()[name].one_of else {})
    done = subprocess.run(
        [
            *(postgres.bin_dir / "psql", "-X", "-v", "ON_ERROR_STOP=1", "-d", store_url.replace("+psycopg", "")),
            *(argument for item in settings.items() for argument in ("-v", f"{item[0]}={item[1]}")),
            *("-c", 'SET search_path TO "a store"', "-f", str(ROOT / "sql" / "analyses" / f"{name}.sql")),
        ],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"\(\d+ rows?\)", done.stdout)


@pytest.mark.parametrize("schema_name", ["a store"])
def test_an_analysis_keeps_to_its_schema_and_cannot_write(store: LogStore) -> None:
    """Read only, with values that look like SQL."""
    load(store, *(run("job", day(each), [dataset("a'; DROP TABLE ol_run; --")], []) for each in range(3)))
    found = ask(
        store,
        "blast_radius",
        window(0, 9),
        dataset="a'; DROP TABLE ol_run; --",
        dataset_namespace="postgres://db:5432",
    )
    assert [each.n for each in found] == [3]
    delete = "DELETE FROM ol_run WHERE run_id LIKE '50%' RETURNING 1"
    with pytest.raises(Exception, match="read-only"), run_script(store.database, delete, {}) as rows:
        list(rows)


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("lineage_drift", {"histry": "1 day"}, "no parameter 'histry'; it has history, runs"),
        ("lineage_drift", {"history": "a while"}, "a number of minutes, hours, days or weeks"),
        ("lineage_drift", {"runs": "0"}, "a number from 1 to 9999, not '0'"),
        ("lineage_drift", {"history": "999999 weeks"}, "no more than 9999 weeks, not '999999 weeks'"),
        ("lineage_drift", {"history": "\u0663 days"}, "a number of minutes, hours, days or weeks"),
        ("blast_radius", {"dataset": "a\0b"}, "dataset of blast_radius is a text"),
        ("blast_radius", {"dataset": "a\udcff"}, "dataset of blast_radius is a text"),
    ],
)
def test_wrong_parameters_are_named(store: LogStore, name: str, values: dict[str, str], message: str) -> None:
    """One line, before anything is asked."""
    with pytest.raises(InputError, match=message):
        ask(store, name, window(0, 1), **values)


def test_an_unknown_analysis_and_a_store_that_is_not_there(database_url: str) -> None:
    """Both say what to do."""
    with pytest.raises(InputError, match=r"there are .*blast_radius, "):
        analysis_named("nope")
    engine = open_engine(database_url)
    with pytest.raises(StoreNotCreated, match="store init"):
        ask_store(Database(engine), analysis_named("schema-drift"), window(0, 1))
    engine.dispose()


def test_findings_have_ids_of_their_own(store: LogStore) -> None:
    """The same from window to window, another for another finding."""
    before = [run("job", day(each), [dataset("a")], [dataset("x")]) for each in range(5)]
    load(store, *before, *(run("job", day(each), [dataset("b"), dataset("c")], [dataset("x")]) for each in range(5, 9)))
    ids = {found.finding_id for found in ask(store, "lineage_drift", window(5, 9))}
    assert len(ids) == 3
    assert {found.finding_id for found in ask(store, "lineage_drift", window(4.5, 20))} == ids
