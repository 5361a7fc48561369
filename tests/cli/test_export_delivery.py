"""What the exporters make can be stored and posted: an edited spec, stored again, shows the new truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text

from lineagelog.store import open_engine
from tests.support import Ran, run_here, serve_process

if TYPE_CHECKING:
    from pathlib import Path

SPEC = """
schema orders (note "Orders of the shop") {
  id INT (pk)
  amount DECIMAL(10,2)
  note_text TEXT
}

schema revenue {
  order_id INT
  total DECIMAL(10,2)
  remark TEXT
}

mapping `daily revenue` {
  source { `orders` }
  target { `revenue` }
  id -> order_id
  amount -> total { round(2) }
  note_text -> remark
}
"""


def run_with(*arguments: str, **variables: str) -> Ran:
    """Run a command here, with variables in its environment."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        return run_here(*arguments)


def export(folder: Path, spec: str, *options: str, **variables: str) -> str:
    path = folder / "shop.stm"
    path.write_text(spec)
    ran = run_with("export", "satsuma", str(path), "-d", "postgres://shop:5432", *options, **variables)
    assert ran.code == 0, ran.err
    return ran.err


def test_load_stores_the_export_and_an_edit_shows_the_new_truth(tmp_path: Path, database_url: str) -> None:
    """Exported twice, nothing is doubled; a column dropped from the spec is gone from the newest run's lineage."""
    here = {"LINEAGELOG_DATABASE": database_url}
    for _ in range(2):
        export(tmp_path, SPEC, "--load", "--event-time", "2026-11-20T08:00:00Z", **here)
    edited = SPEC.replace("  note_text -> remark\n", "").replace("  remark TEXT\n", "")
    said = export(tmp_path, edited, "--load", "--event-time", "2026-11-21T08:00:00Z", **here)
    assert "changed since the last load, so a new run: daily-revenue" in said

    engine = open_engine(database_url)
    with engine.connect() as connection:
        connection.execute(text("SET search_path TO openlineage"))
        assert connection.execute(text("SELECT count(*) FROM ol_event")).scalar_one() == 2
        assert connection.execute(text("SELECT count(*) FROM ol_run")).scalar_one() == 2
        columns = connection.execute(
            text(
                "SELECT s.fields, l.edges->'fields' FROM ol_run_dataset d JOIN ol_schema_version s USING (schema_hash) "
                "JOIN ol_lineage_version l USING (lineage_hash) JOIN ol_run r USING (run_id) WHERE d.direction = 'O' "
                "ORDER BY r.first_event_time DESC LIMIT 1"
            )
        ).all()
    engine.dispose()
    ((fields, edges),) = columns
    assert [field["name"] for field in fields] == ["order_id", "total"]
    assert sorted(edges) == ["order_id", "total"]


def test_emit_posts_the_export_to_the_configured_backend(tmp_path: Path, database_url: str) -> None:
    """`--emit` uses the OpenLineage client's own configuration; the same events arrive as with `--load`."""
    with serve_process("--database", database_url) as (_, port, _):
        time = ("--event-time", "2026-11-20T08:00:00Z")
        export(tmp_path, SPEC, "--emit", *time, OPENLINEAGE_URL=f"http://127.0.0.1:{port}")
        said = export(tmp_path, SPEC, "--load", *time, LINEAGELOG_DATABASE=database_url)
        assert "duplicate 1" in said


def test_emit_without_a_backend_says_what_to_set(tmp_path: Path) -> None:
    """Nobody is configured: one line, exit code 2."""
    path = tmp_path / "shop.stm"
    path.write_text(SPEC)
    ran = run_with("export", "satsuma", str(path), "-d", "postgres://shop:5432", "--emit")
    assert (ran.code, "OPENLINEAGE_URL" in ran.err) == (2, True)


def test_drift_between_two_loads_of_a_changed_spec_is_seen(tmp_path: Path, database_url: str) -> None:
    """Each version of a job is a run, so that the analyses compare them; a spec may change back."""
    here = {"LINEAGELOG_DATABASE": database_url}
    edited = SPEC.replace("  note_text -> remark\n", "")
    for day, spec in ((20, SPEC), (21, edited), (22, SPEC)):
        export(tmp_path, spec, "--load", "--event-time", f"2026-11-{day}T08:00:00Z", **here)
    assert len(run_with("list", "runs", "--since", "2026-11-01", "--json", **here).rows) == 3
    window = ("--since", "2026-11-21", "--until", "2026-11-22", "--runs", "1")
    ran = run_with("analyse", "column-lineage-drift", *window, "--json", **here)
    assert "remark" in ran.out, ran.err


def test_an_unchanged_spec_loaded_again_stores_nothing_new(tmp_path: Path, database_url: str) -> None:
    """Though without a time given the events of a load are of now."""
    here = {"LINEAGELOG_DATABASE": database_url}
    assert "stored 1" in export(tmp_path, SPEC, "--load", **here)
    assert "duplicate 1" in export(tmp_path, SPEC, "--load", **here)


def test_the_job_of_a_mapping_that_is_gone_is_told_and_ended_on_request(tmp_path: Path, database_url: str) -> None:
    """A second load names it; --retire gives it a last run without datasets, once; it may come back."""
    here = {"LINEAGELOG_DATABASE": database_url}
    renamed = SPEC.replace("daily revenue", "nightly revenue")
    export(tmp_path, SPEC, "--load", **here)
    told = "loaded earlier and in none of these specs: daily-revenue"
    assert f"{told} (--retire ends it)" in export(tmp_path, renamed, "--load", **here)
    assert f"{told} (ended)" in export(tmp_path, renamed, "--load", "--retire", **here)
    assert told not in export(tmp_path, renamed, "--load", **here)
    runs = run_with("list", "runs", "--job", "daily-revenue", "--json", **here).rows
    assert len(runs) == 2
    last = run_with("show", runs[-1]["run_id"], "--json", **here).json
    assert last["datasets"] == []
    assert "a new run: daily-revenue" in export(tmp_path, SPEC, "--load", **here)


def test_a_load_keeps_to_the_settings(tmp_path: Path, database_url: str) -> None:
    """The limit of an event's size and strict mode are those of every other way in; the store options too."""
    config = tmp_path / "small.toml"
    config.write_text(f'database = "{database_url}"\n[intake]\nmax_event_mib = 1\n')
    path = tmp_path / "shop.stm"
    path.write_text(SPEC.replace("Orders of the shop", "x" * 1_200_000))
    load = ("export", "satsuma", str(path), "-d", "postgres://shop:5432", "--load", "--config", str(config))
    ran = run_with(*load)
    assert (ran.code, ran.err.splitlines()[-1][:46]) == (2, "lineagelog: an exported event was refused and ")
    assert run_with("export", "satsuma", str(path), "-d", "x", "--load", "--database", database_url).code == 0


def test_a_backend_that_wants_a_token_refuses(tmp_path: Path, database_url: str) -> None:
    """401 is the backend's answer, not a reason to try later: one line that says what to set."""
    for arguments in (("store", "init"), ("tokens", "create", "sender")):
        made = run_with(*arguments, "--database", database_url)
        assert made.code == 0, made.err
    path = tmp_path / "shop.stm"
    path.write_text(SPEC)
    with serve_process("--database", database_url) as (_, port, _):
        url = f"http://127.0.0.1:{port}"
        ran = run_with("export", "satsuma", str(path), "-d", "x", "--emit", OPENLINEAGE_URL=url)
    assert ran.code == 2
    assert "refuses with HTTP 401" in ran.err
    assert "OPENLINEAGE_API_KEY" in ran.err
    assert "TryLater" not in ran.err
