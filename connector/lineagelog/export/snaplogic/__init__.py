"""SnapLogic pipelines and their runs as OpenLineage events: bytes in, events, findings and numbers out."""

from __future__ import annotations

from .accounts import AccountAsset, AccountBook, Mapped, read_accounts, read_namespaces
from .classes import SnapClass, read_classes
from .document import ExportNote
from .events import DEFAULT_CONTROL_PLANE, Nested, PipelineExportOptions, snap_run_id
from .export import PipelineExport, Source, export_snaplogic
from .expression import Expression, read_expression
from .names import Naming, read_columns
from .pipeline import CLASS_PREFIX
from .summary import PipelineSummary
from .validate import problems
from .virtual import VirtualDataset, VirtualNames, virtual_dataset, virtual_name

__all__ = [
    "CLASS_PREFIX",
    "DEFAULT_CONTROL_PLANE",
    "AccountAsset",
    "AccountBook",
    "ExportNote",
    "Expression",
    "Mapped",
    "Naming",
    "Nested",
    "PipelineExport",
    "PipelineExportOptions",
    "PipelineSummary",
    "SnapClass",
    "Source",
    "VirtualDataset",
    "VirtualNames",
    "export_snaplogic",
    "problems",
    "read_accounts",
    "read_classes",
    "read_columns",
    "read_expression",
    "read_namespaces",
    "snap_run_id",
    "virtual_dataset",
    "virtual_name",
]
