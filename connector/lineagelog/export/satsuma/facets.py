"""The facets of datasets and jobs, as the metadata gives them; a facet without content is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lineagelog.export.satsuma.columns import INFERRED, dimension_reference, entity_type, scd_type
from lineagelog.export.satsuma.metadata import has, note_of, prose, tags, value_of, values_of
from lineagelog.spec import FacetBuilder, job_type, schema_field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lineagelog.export.satsuma.columns import Table
    from lineagelog.export.satsuma.tree import Comment, Mapping, Meta, Schema
    from lineagelog.spec import Holder

type Json = dict[str, Any]

OWN_FACETS = "https://lineagelog.github.io/spec/facets/1-0-0"
GOVERNANCE_KEYS = ("classification", "retention", "compliance", "owner", "steward")
_FIELD_KEYS = ("pii", "classification", "retention", "encrypt", "mask")
_CONSUMERS = {"report": "report", "model": "model", "ml_model": "model", "metric": "metric"}
_CONSUMER_KEYS = (
    ("tool", "tool"),
    ("dashboard_id", "dashboardId"),
    ("workbook_id", "workbookId"),
    ("registry", "registry"),
    ("experiment", "experiment"),
    ("metric_name", "metricName"),
    ("grain", "grain"),
    ("filter", "filter"),
)
_MERGE_KEYS = (
    ("on_match", "onMatch"),
    ("on_no_match", "onNoMatch"),
    ("delete_flag", "deleteFlag"),
    ("delete_timestamp", "deleteTimestamp"),
)
# Modelling tokens that the modelling facet always has, and those that it has for one kind of entity only.
_MODELLING_KEYS = frozenset({"scd", "natural_key", "track", "ignore", "driving_key", "conformed", "effectivity"})
_OF_KIND = {
    "fact": ("grain", "ref", "snapshot"),
    "hub": ("business_key",),
    "satellite": ("parent",),
    "link": ("link_hubs",),
}
_WARNING_TYPES = {"warning": "data_quality", "question": "open_question"}


type Naming = Callable[[str, Schema], str]
"""The dataset name of a schema that another one names in its metadata."""


class Facets:
    """Makes facets in the name of one producer; `naming` names the datasets that they speak of."""

    def __init__(self, producer: str, naming: Naming) -> None:
        self._builder, self._naming = FacetBuilder(producer), naming

    def standard(self, key: str, holder: Holder, content: Json) -> Json:
        """A facet of the OpenLineage specification."""
        return self._builder.facet(key, holder, content)

    def own(self, kind: str, content: Json) -> Json:
        """A `satsuma_*` facet, whose schema ships in this package."""
        return self._builder.at(f"{OWN_FACETS}/{kind}.json#/$defs/{kind}", content)

    def dataset(self, table: Table, warnings: list[Json]) -> Json:
        """The facets of a dataset, apart from its column lineage."""
        schema = table.schema
        facets: Json = {}
        columns = schema_fields(table)
        if columns:
            facets["schema"] = self.standard("schema", "Dataset", {"fields": columns})
        text = schema_note(schema)
        if text is not None:
            facets["documentation"] = self.standard("documentation", "Dataset", documentation(text))
        owners = ownership(schema.metadata)
        if owners:
            facets["ownership"] = self.standard("ownership", "Dataset", {"owners": owners})
        for name, kind, content in (
            ("satsuma_governance", "SatsumaGovernanceDatasetFacet", governance(table)),
            ("satsuma_modelling", "SatsumaModellingDatasetFacet", modelling(table, self._naming)),
            ("satsuma_consumer", "SatsumaConsumerDatasetFacet", consumer(schema)),
            ("satsuma_warnings", "SatsumaWarningsDatasetFacet", {"warnings": warnings} if warnings else {}),
        ):
            if content:
                facets[name] = self.own(kind, content)
        return facets

    def job(self, kind: str, text: str | None, merge: Json, warnings: list[Json]) -> Json:
        """The facets of a job; `kind` is TASK, REPORT or MODEL."""
        facets: Json = {}
        if text is not None:
            facets["documentation"] = self.standard("documentation", "Job", documentation(text))
        facets["jobType"] = self.standard("jobType", "Job", job_type("SATSUMA", kind))
        if merge:
            facets["satsuma_mergeStrategy"] = self.own("SatsumaMergeStrategyJobFacet", merge)
        if warnings:
            facets["satsuma_warnings"] = self.own("SatsumaWarningsJobFacet", {"warnings": warnings})
        return facets


def documentation(text: str) -> Json:
    """A text that has several lines is Markdown."""
    return {"description": text, "contentType": "text/markdown"} if "\n" in text else {"description": text}


def schema_note(schema: Schema) -> str | None:
    """The note in the metadata, else the `note { }` blocks of the body."""
    return note_of(schema.metadata) or _joined(schema.notes)


def mapping_note(mapping: Mapping) -> str | None:
    """The `note { }` blocks of the mapping, else the note in its metadata."""
    return _joined(mapping.notes) or note_of(mapping.metadata)


def _joined(notes: Iterable[str]) -> str | None:
    return "\n\n".join(text for text in map(prose, notes) if text) or None


def schema_fields(table: Table) -> list[Json]:
    """The columns by dotted path, then the columns that the modelling tokens imply."""
    told = [schema_field(it.path, it.type or None, note_of(it.field.metadata)) for it in table.columns]
    return told + [schema_field(name, kind or None, INFERRED) for name, kind in table.mechanical.items()]


def ownership(metadata: tuple[Meta, ...]) -> list[Json]:
    """`owner` names teams, `steward` persons."""
    teams = [{"name": name, "type": "TEAM"} for name in values_of(metadata, "owner")]
    return teams + [{"name": name, "type": "PERSON"} for name in values_of(metadata, "steward")]


def governance(table: Table) -> Json:
    """Classification, retention, compliance, owners and personal data; tokens unknown to us ride along."""
    metadata = table.schema.metadata
    content: Json = {}
    for key in GOVERNANCE_KEYS:
        values = values_of(metadata, key)
        if values:
            content[key] = list(values) if key == "compliance" else ", ".join(values)
    fields = {path: _field_governance(field.metadata) for path, field in table.fields.items()}
    fields = {path: found for path, found in fields.items() if found}
    personal = [path for path, found in fields.items() if found.get("pii")]
    if personal:
        leaves = {leaf for path in personal for leaf in table.leaves_under(path) or (path,)}
        order = [column.path for column in table.columns if column.path in leaves]
        content["piiFields"] = order + sorted(leaves.difference(order))
    if fields:
        content["fieldClassifications"] = fields
    others = _other_tokens(table.schema) if content else {}
    return {**content, "otherTokens": others} if others else content


def _field_governance(metadata: tuple[Meta, ...]) -> Json:
    found: Json = {}
    for key in _FIELD_KEYS:
        if has(metadata, key):
            value = value_of(metadata, key)
            found[key] = True if key == "pii" or value is None else value
    return found


def _other_tokens(schema: Schema) -> Json:
    """The tokens that no facet of the dataset has under a key of its own."""
    told = {*GOVERNANCE_KEYS, "source"}
    kind = entity_type(schema)
    if kind is not None or scd_type(schema) is not None:
        told |= {*_MODELLING_KEYS, *_OF_KIND.get(kind or "", ())}
    told |= {kind} if kind is not None else set()
    if consumer_type(schema) is not None:
        told |= {"refresh", *_CONSUMERS, *(key for key, _ in _CONSUMER_KEYS)}
    return {
        entry.key: entry.value if entry.kind == "kv" else True
        for entry in schema.metadata
        if entry.kind in ("tag", "kv") and entry.key not in told
    }


def modelling(table: Table, naming: Naming) -> Json:
    """What a Kimball or Data Vault schema says about itself; nothing for any other schema."""
    schema = table.schema
    metadata, present, kind = schema.metadata, tags(schema.metadata), entity_type(schema)
    if kind is None and scd_type(schema) is None:
        return {}
    content: Json = {"entityType": kind} if kind is not None else {}
    if kind == "fact":
        content |= _fact(table, naming)
    elif kind == "hub":
        content |= _one_or_many("businessKey", values_of(metadata, "business_key"))
    elif kind == "link":
        content |= _listed("linkHubs", tuple(naming(hub, schema) for hub in values_of(metadata, "link_hubs")))
    elif kind == "satellite":
        parents = tuple(naming(parent, schema) for parent in values_of(metadata, "parent"))
        content |= _one_or_many("parent", parents)
    if "conformed" in present:
        content["conformed"] = True
    if scd_type(schema) is not None:
        content["scdType"] = scd_type(schema)
    if "effectivity" in present:
        content["effectivity"] = True
    content |= _one_or_many("naturalKey", values_of(metadata, "natural_key"))
    content |= _one_or_many("drivingKey", values_of(metadata, "driving_key"))
    content |= _listed("trackedFields", values_of(metadata, "track"))
    content |= _listed("ignoredFields", values_of(metadata, "ignore"))
    content |= _listed("inferredColumns", tuple(table.mechanical))
    return content


def _fact(table: Table, naming: Naming) -> Json:
    metadata = table.schema.metadata
    content = _listed("grain", values_of(metadata, "grain"))
    references: list[Json] = []
    for value in values_of(metadata, "ref"):
        dimension, field = dimension_reference(value)
        dimension = naming(dimension, table.schema)
        references.append({"dimension": dimension, "joinField": field} if field else {"dimension": dimension})
    if references:
        content["dimensionRefs"] = references
    if value_of(metadata, "snapshot"):
        content["snapshot"] = value_of(metadata, "snapshot")
    measures = {
        path: value_of(field.metadata, "measure") or "unspecified"
        for path, field in table.fields.items()
        if has(field.metadata, "measure")
    }
    return {**content, "measures": measures} if measures else content


def _listed(key: str, values: tuple[str, ...]) -> Json:
    return {key: list(values)} if values else {}


def _one_or_many(key: str, values: tuple[str, ...]) -> Json:
    if not values:
        return {}
    return {key: values[0] if len(values) == 1 else list(values)}


def consumer_type(schema: Schema) -> str | None:
    """report, model or metric, if the schema is one."""
    present = tags(schema.metadata)
    return next((kind for tag, kind in _CONSUMERS.items() if tag in present), None)


def consumer_tool(schema: Schema) -> str | None:
    """The tool that a report or model lives in: `tool`, else `registry`."""
    if consumer_type(schema) not in ("report", "model"):
        return None
    return value_of(schema.metadata, "tool") or value_of(schema.metadata, "registry")


def consumer(schema: Schema) -> Json:
    """Who reads data here: a report, a model or a metric."""
    kind = consumer_type(schema)
    if kind is None:
        return {}
    metadata = schema.metadata
    content: Json = {"consumerType": kind}
    for token, key in _CONSUMER_KEYS:
        value = value_of(metadata, token)
        if value is not None:
            content[key] = value
    refresh = value_of(metadata, "refresh")
    if refresh is not None:
        content["refreshSchedule"] = refresh.removeprefix("schedule").strip().strip('"')
    slices = [item for entry in metadata if entry.kind == "slice" for item in entry.values]
    return {**content, "slices": slices} if slices else content


def merge_strategy(mapping: Mapping) -> Json:
    """How a mapping loads its target; an upsert updates and inserts unless it says otherwise."""
    metadata = mapping.metadata
    strategy = value_of(metadata, "merge")
    if strategy is None:
        return {}
    content: Json = {"strategy": strategy, **_listed("matchOn", values_of(metadata, "match_on"))}
    if strategy == "upsert":
        content |= {"onMatch": "update", "onNoMatch": "insert"}
    for token, key in _MERGE_KEYS:
        value = value_of(metadata, token)
        if value is not None:
            content[key] = value
    return content


def warnings_of(comments: Iterable[tuple[Comment, str | None]]) -> list[Json]:
    """`//!` and `//?` comments, each with the field that it is about, if any."""
    found: list[Json] = []
    for comment, field in comments:
        entry: Json = {"type": _WARNING_TYPES[comment.kind], "message": comment.text}
        if field is not None:
            entry["field"] = field
        found.append(entry)
    return found
