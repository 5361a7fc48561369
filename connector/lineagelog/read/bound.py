"""What a reader that is bound to job namespaces sees: the rows of their jobs, in every table that names jobs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import ColumnElement

from .script import text_array

VARIABLE: Final = "within"
"""Of scripts: the namespaces as PostgreSQL spells an array; empty = all of them."""

type Columns = Any


class Bound:
    """The job namespaces that a reader may see; None = all of them."""

    def __init__(self, namespaces: Iterable[str] | None) -> None:
        self.namespaces = None if namespaces is None else sorted(namespaces)

    def on(self, columns: Columns) -> tuple[ColumnElement[bool], ...]:
        """The condition on a table whose rows name their job's namespace."""
        return () if self.namespaces is None else (columns.job_namespace.in_(self.namespaces),)

    @staticmethod
    def condition(alias: str) -> str:
        """The same as text, for a file of SQL; `variables` has its value."""
        return f"(:'{VARIABLE}'::text = '' OR {alias}.job_namespace = ANY (nullif(:'{VARIABLE}'::text, '')::text[]))"

    @property
    def variables(self) -> dict[str, str]:
        """The variables of `condition`."""
        return {VARIABLE: "" if self.namespaces is None else text_array(self.namespaces)}
