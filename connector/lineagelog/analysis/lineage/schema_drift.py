"""Schema drift: columns of a dataset that were added, removed or retyped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from lineagelog.analysis import Analysis, Finding, Given, Severity, Subject, place
from lineagelog.shown import counted

from .drift import HISTORY
from .types import keeps_values, normal_type


class SchemaChange(Struct, frozen=True, kw_only=True):
    """A row: a dataset whose schema differs from the one that the same job reported before."""

    dataset_namespace: str
    dataset_name: str
    before: Any
    """Fields of the schema facet."""
    after: Any
    first_seen: datetime
    last_seen: datetime
    n: int
    """Earlier sightings that it is compared with."""
    jobs: list[tuple[str, str]]
    """Namespace and name of those that reported the change."""
    run_ids: list[str]


class ColumnChange(Struct, frozen=True, order=True):
    """What happened to one column; a nested one has a dotted path."""

    change: str
    """added, removed or retyped."""
    column: str
    before: str | None
    after: str | None

    @property
    def is_breaking(self) -> bool:
        """Whether a reader of the old schema may fail: a column is gone, or its values may no longer fit."""
        if self.change == "retyped":
            return not keeps_values(self.before or "", self.after or "")
        return self.change == "removed"

    @property
    def meaning(self) -> tuple[Any, ...]:
        """Equal for the same change, in whatever words for the types."""
        return self.change, self.column, *(kind and normal_type(kind) for kind in (self.before, self.after))

    def __str__(self) -> str:
        if self.change == "retyped":
            return f"{self.column}: {self.before} → {self.after}"
        return f"{'+' if self.change == 'added' else '-'}{self.column}"


def explain(rows: Iterable[SchemaChange], _: Given) -> list[Finding]:
    """One finding per dataset and list of changes, whoever reported it in whatever spelling."""
    found: dict[Any, tuple[list[ColumnChange], list[SchemaChange]]] = {}
    for row in rows:
        if changes := column_changes(row.before, row.after):
            same = (row.dataset_namespace, row.dataset_name, *(change.meaning for change in changes))
            found.setdefault(same, (changes, []))[1].append(row)
    return [_finding(changes, same) for changes, same in found.values()]


def column_changes(before: Any, after: Any) -> list[ColumnChange]:
    """What differs between two lists of schema fields, by name; the order of columns is no difference.

    Types are compared by their meaning; not at all where one side says VARCHAR of every column without describing any,
    as SnapLogic does, which knows no types.
    """
    old, new = dict(_columns(before)), dict(_columns(after))
    changes = [ColumnChange("removed", name, old[name], None) for name in old.keys() - new.keys()]
    changes += [ColumnChange("added", name, None, new[name]) for name in new.keys() - old.keys()]
    if not (_knows_no_types(before) or _knows_no_types(after)):
        for name in old.keys() & new.keys():
            types = old[name], new[name]
            if None not in types and normal_type(types[0] or "") != normal_type(types[1] or ""):
                changes.append(ColumnChange("retyped", name, *types))
    return sorted(changes)


def _columns(fields: Any, prefix: str = "") -> Iterator[tuple[str, str | None]]:
    """Dotted names and types of all fields; what is no field is passed over."""
    for field in fields if isinstance(fields, list) else ():
        if isinstance(field, dict) and isinstance(name := field.get("name"), str):
            kind = field.get("type")
            has_inner = isinstance(field.get("fields"), list) and field["fields"]
            # the type of a struct often spells out its inner fields, which are compared on their own
            yield prefix + name, "struct" if has_inner else (kind if isinstance(kind, str) and kind else None)
            yield from _columns(field.get("fields"), f"{prefix}{name}.")


def _knows_no_types(fields: Any) -> bool:
    return isinstance(fields, list) and all(
        isinstance(field, dict) and field.get("type") == "VARCHAR" and field.get("description") == ""
        for field in fields
    )


def _finding(changes: list[ColumnChange], rows: list[SchemaChange]) -> Finding:
    first = rows[0]
    subject = Subject("dataset", first.dataset_namespace or None, first.dataset_name)
    breaking = [change for change in changes if change.is_breaking]
    jobs = sorted({place(namespace, name) for row in rows for namespace, name in row.jobs})
    words = ", ".join(map(str, changes))
    return Finding(
        subject=subject,
        change="columns changed",
        detail=words,
        observed=counted(sum(1 for _ in _columns(first.after)), "columns"),
        expected=f"{counted(sum(1 for _ in _columns(first.before)), 'columns')}, as before",
        n=max(row.n for row in rows),
        severity=Severity.HIGH if breaking else Severity.LOW,
        first_seen=min(row.first_seen for row in rows),
        last_seen=max(row.last_seen for row in rows),
        run_ids=tuple(run_id for row in rows for run_id in row.run_ids)[:10],
        explanation=f"{subject} changed, as {', '.join(jobs)} reported: {words}"
        f"{' (breaks readers: ' + ', '.join(change.column for change in breaking) + ')' if breaking else ''}.",
        values={
            "is_breaking": bool(breaking),
            "jobs": jobs,
            "changes": [
                {"change": each.change, "column": each.column, "before": each.before, "after": each.after}
                for each in changes
            ],
        },
    )


ANALYSIS: Final = Analysis(
    name="schema_drift",
    question="Which datasets changed their columns, and does it break readers?",
    about="Compared is what one job says of a dataset from execution to execution. Reordered columns and other words "
    "for the same type are no change. High: a column was removed, or its values may no longer fit.",
    parameters=(HISTORY,),
    row=SchemaChange,
    explain=explain,
    method="difference to the schema that the same job reported before",
    example="--since -1d",
)
