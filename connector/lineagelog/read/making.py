"""Makes the typed rows from database rows: times in UTC, what is stored as '' for missing as None."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, Final

import orjson
from msgspec import Struct, structs

from lineagelog.store.definition.schema import LogStoreSchema

from .rows import Assertion, EventRow, ListedDataset, ListedJob, Run, RunDataset, Test

_NAMESPACES: Final = frozenset(("job_namespace", "dataset_namespace", "parent_namespace", "root_namespace"))
_WITH_ERROR: Final = frozenset(("FAIL", "ABORT"))

type Make[T] = Callable[[Any], T]


def utc(value: datetime | None) -> datetime | None:
    """The same instant with the zone UTC, whatever zone the session has."""
    return None if value is None else value.astimezone(UTC)


def _maker[T: Struct](row_type: type[T], names: tuple[str, ...], optional: frozenset[str] = frozenset()) -> Make[T]:
    """Takes the columns by name; those in ``optional`` are None where they are stored as ''."""
    values_of = attrgetter(*names)

    def value_of(name: str, value: Any) -> Any:
        if isinstance(value, datetime):
            return value.astimezone(UTC)
        if name in _NAMESPACES and value is not None:
            return LogStoreSchema.from_stored_namespace(value)
        if name == "params" and value is not None:
            return orjson.loads(value)
        return (value or None) if name in optional else value

    def make(row: Any) -> T:
        return row_type(*map(value_of, names, values_of(row)))

    return make


def _fields(row_type: type[Struct]) -> tuple[str, ...]:
    return row_type.__struct_fields__


_any_run: Final = _maker(Run, _fields(Run)[:-2])
dataset: Final = _maker(RunDataset, _fields(RunDataset))
_any_assertion: Final = _maker(Assertion, _fields(Assertion))
_any_test: Final = _maker(Test, _fields(Test))
listed_job: Final = _maker(ListedJob, _fields(ListedJob))
_any_dataset: Final = _maker(ListedDataset, _fields(ListedDataset))
event: Final = _maker(EventRow, _fields(EventRow)[:-2], frozenset(("run_id", "event_type", "job_name")))


def assertion(row: Any) -> Assertion:
    """A row of ol_assertion; one that was not executed has not failed."""
    made = _any_assertion(row)
    return structs.replace(made, success=None) if row.skipped else made


def test(row: Any) -> Test:
    """A row of ol_test, the same."""
    made = _any_test(row)
    return structs.replace(made, status="skip") if row.skipped else made


def run(row: Any) -> Run:
    """A row of ol_run. The error's text is kept of any event, and shown of runs that did not end well."""
    made = _any_run(row)
    told: dict[str, Any] = {}
    if made.start_time is not None and made.end_time is not None and made.end_time >= made.start_time:
        told["duration"] = (made.end_time - made.start_time).total_seconds()
    if made.error_message is not None and made.outcome not in _WITH_ERROR:
        told["error_message"] = None
    return structs.replace(made, **told) if told else made


def listed_dataset(row: Any) -> ListedDataset:
    """A row of v_ol_dataset; shown is the first name where the reader may not see that which most runs use."""
    made = _any_dataset(row)
    shown = {"namespace": made.dataset_namespace or "", "name": made.dataset_name}
    first = shown if shown in made.names else made.names[0]
    names = [{**each, "namespace": LogStoreSchema.from_stored_namespace(each["namespace"])} for each in made.names]
    namespace = LogStoreSchema.from_stored_namespace(first["namespace"])
    return structs.replace(made, names=names, dataset_namespace=namespace, dataset_name=first["name"])
