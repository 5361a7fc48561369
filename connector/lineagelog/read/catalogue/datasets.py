"""The list of datasets: each with all its names, and what was said of it last by any of them."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Select,
    Uuid,
    and_,
    column,
    exists,
    func,
    literal_column,
    or_,
    select,
    true,
    tuple_,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.sql.selectable import LateralFromClause

from lineagelog.event.model import EventKind
from lineagelog.postgres.database import Database
from lineagelog.read import making
from lineagelog.read.bound import Bound
from lineagelog.read.listing import Listing
from lineagelog.read.rows import ListedDataset
from lineagelog.store.definition import tables
from lineagelog.store.definition.schema import LogStoreSchema

from .search import Sought, function, holds, listing, view


def datasets(database: Database, schema: LogStoreSchema, wanted: Sought, bound: Bound) -> Listing[ListedDataset]:
    """The datasets that were seen in a window; a reader that is bound to namespaces sees those that their jobs used."""
    statement, key = _Question(schema, wanted, bound).statement()
    return listing(database, "datasets", statement, key, making.listed_dataset, reverse=wanted.reverse)


class _Question:
    """One list, as a statement over v_ol_dataset."""

    def __init__(self, schema: LogStoreSchema, wanted: Sought, bound: Bound) -> None:
        self._schema, self._wanted, self._bound = schema, wanted, bound
        self._source = view(schema.schema_name, "v_ol_dataset", "identity_key", "search_text", row=ListedDataset)

    def statement(self) -> tuple[Select[tuple[object, ...]], tuple[ColumnElement[object], ...]]:
        """The statement without an order, and its key."""
        dataset = self._source.c
        shown = [each for each in dataset if each.name not in ("names", "search_text")]
        if self._bound.namespaces is None:
            statement = select(*shown, dataset.names).where(*self._wanted.seen(dataset))
            names: ColumnElement[object] = dataset.names
            text: ColumnElement[str] = dataset.search_text
        else:
            own = self._own_names()
            statement = select(*shown, own.c.names).select_from(self._source.join(own, true()))
            statement = statement.where(*self._wanted.seen(dataset), own.c.names.is_not(None))
            names = own.c.names
            told = (dataset.description, dataset.owners, dataset.tags)
            text = function(self._schema.schema_name, "ol_search_text")(own.c.texts, *told)
        if self._wanted.search:
            statement = statement.where(holds(text, self._wanted.search))
        if named := self._named():
            statement = statement.where(names.contains([named]))
        return statement, (dataset.first_seen, dataset.identity_key)

    def _named(self) -> dict[str, str]:
        given = (("namespace", self._wanted.namespace), ("name", self._wanted.name))
        return {member: value for member, value in given if value is not None}

    def _own_names(self) -> LateralFromClause:
        """Of a dataset's names those that a job of the reader's namespaces used: other names are not its to know."""
        each = func.jsonb_array_elements(self._source.c.names, type_=JSONB).column_valued("each")
        namespace, name = each["namespace"].astext, each["name"].astext
        key = function(self._schema.schema_name, "ol_key")(namespace, name, type_=Uuid)
        used = self._schema.t(tables.RUN_DATASET_TABLE).c
        own: ColumnElement[bool] = exists().where(used.dataset_key == key, *self._bound.on(used))
        texts = func.string_agg(namespace.op("||")("\n").op("||")(name), "\n").label("texts")
        own = or_(own, tuple_(namespace, name).in_(self._told_of_jobs()))
        found = select(func.jsonb_agg(each, type_=JSONB).label("names"), texts).where(own)
        return found.lateral("own")

    def _told_of_jobs(self) -> Select[Any]:
        """Namespace and name of the inputs and outputs that events of jobs themselves named: no run need have come."""
        table = self._schema.t(tables.EVENT_TABLE)
        event, found = table.c, func.jsonb_path_query(table.c.event, _INPUTS_AND_OUTPUTS)
        told = found.table_valued(column("dataset", JSONB)).render_derived(name="told")
        namespace, name = func.coalesce(told.c.dataset["namespace"].astext, ""), told.c.dataset["name"].astext
        job_events = and_(event.run_id == "", event.event_kind == EventKind.JOB, *self._bound.on(event))
        return select(namespace, name).select_from(table.join(told, true())).where(job_events, name.is_not(None))


_INPUTS_AND_OUTPUTS: Final[ColumnElement[str]] = literal_column(
    """'$.keyvalue() ? (@.key == "inputs" || @.key == "outputs").value[*]'::jsonpath"""
)
