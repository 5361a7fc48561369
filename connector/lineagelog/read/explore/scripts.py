"""Asks the files of `sql/explore`: what they share is written once here, and put in where they name it.

``:bound(e)`` is what the asker may see of rows that name their job's namespace, ``:one_task(a, b)`` whether two runs
are attempts at one task, ``:replaced(r)`` whether a later attempt took a run's place, ``:include(name)`` another file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from msgspec import Struct, convert

from lineagelog.postgres.database import Database
from lineagelog.read.bound import Bound
from lineagelog.read.script import Stop, run_script
from lineagelog.resources import sql_text

_CALL: Final = re.compile(r":(bound|one_task|replaced|include|order|beyond)\(([\w, ]*)\)")
_SETTINGS: Final = {"jit": "off", "work_mem": "32MB", "statement_timeout": "60000"}
_TASK: Final = (
    "({b}.job_key = {a}.job_key AND coalesce({b}.map_index, -1) = coalesce({a}.map_index, -1)"
    " AND CASE WHEN {a}.attempt IS NOT NULL AND {b}.attempt IS NOT NULL"
    " THEN coalesce({b}.nominal_start_time, '-infinity') = coalesce({a}.nominal_start_time, '-infinity')"
    " AND ({a}.nominal_start_time IS NOT NULL OR {b}.parent_run_id = {a}.parent_run_id)"
    " ELSE {b}.nominal_start_time = {a}.nominal_start_time OR {b}.parent_run_id = {a}.parent_run_id END)"
)
"""Of one job, and due at one time or started by one run: what `conditions.of_one_task` has, and retries by producers
that do not count attempts."""
_NEAR: Final = "interval '2 days'"
"""How far apart attempts at one task are at most."""


def _replaced(alias: str) -> str:
    """A run that a later attempt took the place of: one that did not come to a good end, or whose producer counts."""
    later = f"later_than_{alias}"
    return (
        f"(({alias}.outcome <> 'COMPLETE' OR {alias}.attempt IS NOT NULL) AND EXISTS (SELECT FROM ol_run {later}"
        f" WHERE {later}.job_key = {alias}.job_key AND {later}.first_event_time > {alias}.first_event_time"
        f" AND {later}.first_event_time < {alias}.first_event_time + {_NEAR}"
        f" AND NOT ol_is_snaplogic({later}.job_namespace)"
        f" AND ({alias}.attempt IS NOT NULL OR {alias}.outcome IN ('FAIL', 'ABORT'))"
        f" AND ({alias}.nominal_start_time IS NOT NULL OR {alias}.parent_run_id IS NOT NULL)"
        f" AND {_TASK.format(a=alias, b=later)}))"
    )


@cache
def script(name: str, order: str = "DESC") -> str:
    """The text of a file of `sql/explore`, complete."""

    def put_in(match: re.Match[str]) -> str:
        names = [each.strip() for each in match[2].split(",")]
        match match[1]:
            case "bound":
                return Bound.condition(names[0])
            case "one_task":
                return _TASK.format(a=names[0], b=names[1])
            case "replaced":
                return _replaced(names[0])
            case "include":
                return script(names[0], order)
            case "beyond":
                return "<" if order == "DESC" else ">"
            case _:
                return order

    text = sql_text(f"explore/{name}.sql")
    return _CALL.sub(put_in, "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--")))


class Asking:
    """One store as one asker sees it."""

    def __init__(self, database: Database, bound: Bound, stop: Stop | None = None) -> None:
        self.database, self.bound, self._stop = database, bound, stop

    def rows[Row: Struct](
        self, name: str, row: type[Row], values: Mapping[str, str], *, reverse: bool = True
    ) -> list[Row]:
        """The rows of a file of `sql/explore`. Raises what `run_script` raises."""
        return [convert(each, row, strict=False) for each in self.dicts(name, values, reverse=reverse)]

    def dicts(self, name: str, values: Mapping[str, str], *, reverse: bool = True) -> list[dict[str, Any]]:
        """The same as dictionaries."""
        text = script(name, "DESC" if reverse else "ASC")
        given = {**values, **self.bound.variables}
        with run_script(self.database, text, given, _SETTINGS, self._stop) as found:
            return [{name: _plain(value) for name, value in each.items()} for each in found]


def _plain(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) else value
