"""The lineage SDK: track a Python job's runs, inputs and outputs as OpenLineage events.

    from lineagelog.sdk import lineage_run

    with lineage_run("load_orders", inputs=["shop/orders"], outputs=["dwh/orders"]):
        ...

Built on openlineage-python: its openlineage.yml and OPENLINEAGE_* variables say where the events go.
"""

from __future__ import annotations

try:
    import openlineage.client as _client
except ImportError as _problem:
    raise ImportError("the lineage SDK needs openlineage-python: pip install 'lineagelog[sdk]'") from _problem

from lineagelog.sdk.delivery.emitter import configure, flush

from . import connectors
from .events import EventType
from .facets import column_lineage_facet, schema_facet
from .parents import RunRef, propagate
from .run import LineageRun, current_run, emit_lineage, lineage_run
from .sql import SqlLineage, lineage_from_sql

del _client

__all__ = [
    "EventType",
    "LineageRun",
    "RunRef",
    "SqlLineage",
    "column_lineage_facet",
    "configure",
    "connectors",
    "current_run",
    "emit_lineage",
    "flush",
    "lineage_from_sql",
    "lineage_run",
    "propagate",
    "schema_facet",
]
