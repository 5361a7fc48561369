"""Satsuma mapping specs (`.stm`) as OpenLineage events: design-time lineage, deterministic and valid.

`OwnEngine` (or `CliEngine`, on the `satsuma` command) reads a workspace; `export` makes its events;
`validate` and `summarize` check and count them; `as_files`, `as_array`, `as_ndjson` and `as_script` write
them out.
"""

from lineagelog.export.satsuma.check import Summary, summarize, validate
from lineagelog.export.satsuma.cli_engine import CliEngine, Ran
from lineagelog.export.satsuma.events import Export, Exported, consumers, export
from lineagelog.export.satsuma.options import ExportOptions, NamespaceRule
from lineagelog.export.satsuma.outputs import FORMATS, as_array, as_files, as_lines, as_ndjson, as_script
from lineagelog.export.satsuma.parser import parse
from lineagelog.export.satsuma.text import SatsumaError
from lineagelog.export.satsuma.tree import Spec, SpecProblem
from lineagelog.export.satsuma.workspace import Engine, OwnEngine

__all__ = [
    "FORMATS",
    "CliEngine",
    "Engine",
    "Export",
    "ExportOptions",
    "Exported",
    "NamespaceRule",
    "OwnEngine",
    "Ran",
    "SatsumaError",
    "Spec",
    "SpecProblem",
    "Summary",
    "as_array",
    "as_files",
    "as_lines",
    "as_ndjson",
    "as_script",
    "consumers",
    "export",
    "parse",
    "summarize",
    "validate",
]
