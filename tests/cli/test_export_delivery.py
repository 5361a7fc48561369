"""What the exporters make can be stored and posted: an edited spec, stored again, shows the new truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import text

from lineagelog.store import open_engine
from tests.support import run_process, serve_process

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


def export(folder: Path, spec: str, *options: str, **variables: str) -> str:
    path = folder / "shop.stm"
    path.write_text(spec)
    ran = run_process("export", "satsuma", str(path), "-d", "postgres://shop:5432", *options, **variables)
    assert ran.code == 0, ran.err
    return ran.err


def test_load_stores_the_export_and_an_edit_shows_the_new_truth(tmp_path: Path, database_url: str) -> None:
    """Exported twice, nothing is doubled; a column dropped from the spec is gone from the current lineage."""
    here = {"LINEAGELOG_DATABASE": database_url}
    for _ in range(2):
        export(tmp_path, SPEC, "--load", "--event-time", "2026-11-20T08:00:00Z", **here)
    edited = SPEC.replace("  note_text -> remark\n", "").replace("  remark TEXT\n", "")
    export(tmp_path, edited, "--load", "--event-time", "2026-11-21T08:00:00Z", **here)

    engine = open_engine(database_url)
    with engine.connect() as connection:
        connection.execute(text("SET search_path TO openlineage"))
        assert connection.execute(text("SELECT count(*) FROM ol_event")).scalar_one() == 2
        assert connection.execute(text("SELECT count(*) FROM ol_run")).scalar_one() == 1
        columns = connection.execute(
            text(
                "SELECT s.fields, l.edges->'fields' FROM ol_run_dataset d JOIN ol_schema_version s USING (schema_hash) "
                "JOIN ol_lineage_version l USING (lineage_hash) WHERE d.direction = 'O'"
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
    ran = run_process("export", "satsuma", str(path), "-d", "postgres://shop:5432", "--emit")
    assert (ran.code, "OPENLINEAGE_URL" in ran.err) == (2, True)
