"""How long an export of 10,000 Satsuma mappings takes, from text to validated events on disk.

Run it with `python -m benchmarks.satsuma_export [MAPPINGS]`. The workspace is made up: each mapping has two
sources and a target of their own, 15 arrows of all kinds, notes, governance and modelling tokens.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from lineagelog.cli.export_satsuma import uncollected
from lineagelog.export.files import write_folder
from lineagelog.export.satsuma import ExportOptions, OwnEngine, as_files, export, summarize, validate

MAPPINGS_PER_FILE = 100


def workspace(mappings: int) -> dict[str, bytes]:
    """The files of a made-up workspace by path; `all.stm` imports the others."""
    files: dict[str, bytes] = {}
    for number, first in enumerate(range(0, mappings, MAPPINGS_PER_FILE)):
        last = min(first + MAPPINGS_PER_FILE, mappings)
        files[f"part{number}.stm"] = "\n".join(map(_mapping, range(first, last))).encode()
    firsts = range(0, mappings, MAPPINGS_PER_FILE)
    imports = [f'import {{ target_{first} }} from "part{number}.stm"' for number, first in enumerate(firsts)]
    return {"all.stm": "\n".join(imports).encode(), **files}


def _mapping(n: int) -> str:
    plain = "\n".join(f"  field_{i} -> col_{i} {{ trim | uppercase | null_if_empty }}" for i in range(8))
    fields = "\n".join(f'  field_{i} VARCHAR({i + 10}) (required, note "Field number {i}")' for i in range(12))
    columns = "\n".join(f"  col_{i} VARCHAR({i + 10})" for i in range(14))
    return f"""
schema left_{n} (owner "team {n % 7}", classification "INTERNAL", note "The left source number {n}") {{
{fields}
  email VARCHAR(255) (pii, classification "RESTRICTED", mask partial_email)  //! not validated
}}
schema right_{n} (note "The right source number {n}") {{
  lines list_of record {{ sku VARCHAR(20)
    quantity INT
  }}
  right_id BIGINT (pk)
}}
schema target_{n} (dimension, scd 2, natural_key col_0, track {{col_1, col_2}}) {{
{columns}
  items list_of record {{ sku VARCHAR(20)
    quantity INT
  }}
}}
mapping `load target {n}` (merge upsert, match_on col_0) {{
  note {{ "Loads target number {n} from both of its sources." }}
  source {{ left_{n}, right_{n}, "Join on @left_{n}.field_0 = @right_{n}.right_id" }}
  target {{ target_{n} }}
{plain}
  left_{n}.field_8 -> col_8
  field_9, field_10 -> col_9 {{ "Concatenate with a space" }}
  field_11 -> col_10 {{ map {{ A: "active", C: "closed", _: "other" }} }}
  -> col_11 {{ "From @left_{n}.field_3 and @right_id" }}
  -> col_12 {{ now_utc }}
  each right_{n}.lines -> items {{
    .sku -> .sku {{ trim }}
    .quantity -> .quantity
  }}
}}
"""


def run(mappings: int) -> dict[str, float]:
    """The seconds of each step."""
    files = workspace(mappings)
    options = ExportOptions(event_time=datetime(2025, 1, 1, tzinfo=UTC), dataset_namespace="snowflake://acme")
    marks = [("", time.perf_counter())]
    with uncollected(), tempfile.TemporaryDirectory() as folder:
        spec = OwnEngine(lambda path: files[path]).read(["all.stm"])
        marks.append(("read", time.perf_counter()))
        made = export(spec, options)
        marks.append(("make events", time.perf_counter()))
        failures = validate(made.events)
        marks.append(("validate", time.perf_counter()))
        summary = summarize(made, failures)
        write_folder(Path(folder), as_files(made.events))
        marks.append(("sum up and write", time.perf_counter()))
    if summary.failures or summary.problems or summary.events != mappings:
        raise SystemExit(f"the export is not clean: {(*summary.failures, *summary.problems)[:3]}")
    steps = {name: now - before for (_, before), (name, now) in itertools.pairwise(marks)}
    return {**steps, "in all": marks[-1][1] - marks[0][1]}


def main() -> None:
    """Print the seconds of each step."""
    mappings = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    print(f"{mappings:,} mappings")
    for name, seconds in run(mappings).items():
        print(f"  {name:<18} {seconds:6.1f} s  {1000 * seconds / mappings:6.2f} ms per mapping")


if __name__ == "__main__":
    main()
