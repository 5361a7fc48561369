"""`lineagelog export …`: documents that describe lineage become events, for files, the store and backends."""

from __future__ import annotations

import typer

from . import export_satsuma, export_snaplogic

group = typer.Typer(help="Make OpenLineage events from documents that describe lineage.", no_args_is_help=True)

export_satsuma.register(group)
export_snaplogic.register(group)
