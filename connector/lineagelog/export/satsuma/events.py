"""Makes the OpenLineage events of a spec: a job per mapping, one per report or model that names sources."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import UTC
from typing import TYPE_CHECKING

from lineagelog.errors import SettingsError
from lineagelog.export.satsuma.columns import fields_only
from lineagelog.export.satsuma.definitions import find_key
from lineagelog.export.satsuma.facets import (
    Facets,
    consumer_tool,
    consumer_type,
    mapping_note,
    merge_strategy,
    schema_note,
    warnings_of,
)
from lineagelog.export.satsuma.lineage import Resolver
from lineagelog.export.satsuma.metadata import values_of
from lineagelog.export.satsuma.naming import JobNames, dotted, job_name, run_id
from lineagelog.export.satsuma.transforms import DIRECT_COPY
from lineagelog.spec import CURRENT, transformation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lineagelog.export.satsuma.facets import Json
    from lineagelog.export.satsuma.lineage import Entry, Lineage, SourceField
    from lineagelog.export.satsuma.options import ExportOptions
    from lineagelog.export.satsuma.tree import Comment, Field, Schema, Spec, SpecProblem

FROM_REFERENCE = "(inferred from NL @ref)"
_HOW = {
    "copy": ("DIRECT", "IDENTITY"),
    "transform": ("DIRECT", "TRANSFORMATION"),
    "inferred": ("INDIRECT", None),
}
_JOB_TYPES = {"report": "REPORT", "model": "MODEL"}


@dataclass(frozen=True, slots=True)
class Exported:
    """One event, the name that it is filed under, and what the summary needs of it.

    `prose` are the target fields (dataset name, path) whose transform is in natural language, and its text.
    """

    name: str
    event: Json
    targets: tuple[str, ...] = ()
    covered: tuple[tuple[str, str], ...] = ()
    transforms: int = 0
    prose: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Export:
    """All events of a spec in their order, and what deserves a look.

    `unmapped` are the schemas that stand in no event: no mapping, report or model names them.
    """

    events: tuple[Exported, ...]
    problems: tuple[SpecProblem, ...]
    resolver: Resolver
    unmapped: tuple[Schema, ...] = ()


def export(spec: Spec, options: ExportOptions, progress: Callable[[int], None] | None = None) -> Export:
    """Make the events of a spec: the same spec and options give the same events.

    `progress` is called with the number of jobs done. Raises SettingsError when a schema has no dataset
    namespace or two schemas have one name.
    """
    work = _Export(spec, options)
    events: list[Exported] = []
    problems: list[SpecProblem] = list(spec.problems)
    for number, mapping in enumerate(spec.mappings, 1):
        lineage = work.resolver.resolve(mapping)
        problems += lineage.problems
        events += work.mapping_events(lineage)
        if progress is not None:
            progress(number)
    events += work.consumer_events()
    unmapped = tuple(work.unmapped())
    if options.standalone_schemas:
        events += [work.dataset_event(schema) for schema in unmapped]
        unmapped = ()
    return Export(tuple(events), tuple(problems), work.resolver, unmapped)


def consumers(spec: Spec) -> Iterator[tuple[Schema, tuple[str, ...]]]:
    """The reports and models with the keys of the schemas they name as sources."""
    for schema in spec.schemas.values():
        if consumer_type(schema) in _JOB_TYPES:
            yield schema, tuple(dict.fromkeys(_source_keys(schema, spec)))


def _source_keys(schema: Schema, spec: Spec) -> Iterator[str]:
    for name in values_of(schema.metadata, "source"):
        key = find_key(name.removeprefix("@"), schema.namespace, spec.schemas)
        if key is not None:  # the engine has refused unknown ones
            yield key


class _Export:
    """What is made once for all events: datasets, facets, names."""

    def __init__(self, spec: Spec, options: ExportOptions) -> None:
        self.spec, self.options = spec, options
        self.resolver = Resolver(spec)
        self._facets = Facets(options.producer, self._dataset_name)
        self._names = JobNames()
        self._comments = _Comments(spec)
        self._datasets: dict[str, Json] = {}
        self._alone: set[str] = set()  # consumers that have an event of their own
        self._identities: dict[tuple[str, str], str] = {}
        time = options.event_time.astimezone(UTC).isoformat(timespec="milliseconds")
        self._time = time.removesuffix("+00:00") + "Z"

    def _dataset_name(self, name: str, at: Schema) -> str:
        """The dataset name of a schema as another one names it; one that is not there is named all the same."""
        key = find_key(name.removeprefix("@"), at.namespace, self.spec.schemas)
        return self.options.dataset_name(key or name.removeprefix("@"))

    def mapping_events(self, lineage: Lineage) -> list[Exported]:
        mapping = lineage.mapping
        warnings = warnings_of(self._comments.of_mapping(lineage))
        job = {
            "namespace": self.options.job_namespace,
            "name": self._names.take(job_name(mapping)),
            "facets": self._facets.job("TASK", mapping_note(mapping), merge_strategy(mapping), warnings),
        }
        inputs = [self.dataset(key) for key in mapping.sources]
        outputs = [self._output(key, lineage) for key in mapping.targets]
        transforms = sum(1 for entry in lineage.entries.values() if not entry.direct)
        prose = tuple(
            (self.dataset(key)["name"], path, "; ".join(entry.descriptions))
            for (key, path), entry in lineage.entries.items()
            if entry.is_prose
        )
        made = Exported("", {}, mapping.targets, tuple(lineage.entries), transforms, prose)
        return self._events(made, job, inputs, outputs)

    def consumer_events(self) -> Iterator[Exported]:
        fed = {key for mapping in self.spec.mappings for key in mapping.targets}
        for schema, sources in consumers(self.spec):
            if sources:
                kind = _JOB_TYPES[consumer_type(schema) or ""]
                job = {
                    "namespace": self.options.job_namespace,
                    "name": self._names.take(dotted(schema.key)),
                    "facets": self._facets.job(kind, schema_note(schema), {}, []),
                }
                inputs = [self.dataset(key) for key in sources]
                yield from self._events(Exported("", {}), job, inputs, [self.dataset(schema.key)])
            elif self.options.standalone_consumers and schema.key not in fed:
                self._alone.add(schema.key)
                yield self.dataset_event(schema)

    def unmapped(self) -> Iterator[Schema]:
        """The schemas that no mapping names, that feed no report or model, and that are none with sources."""
        named = {key for mapping in self.spec.mappings for key in (*mapping.sources, *mapping.targets)}
        for schema, sources in consumers(self.spec):
            named |= {schema.key, *sources} if sources else set()
        yield from (schema for key, schema in self.spec.schemas.items() if key not in named | self._alone)

    def dataset(self, key: str) -> Json:
        """A dataset with its facets, made once."""
        found = self._datasets.get(key)
        if found is None:
            table = self.resolver.tables[key]
            warnings = warnings_of(self._comments.of_schema(table.schema))
            namespace, name = self._identity(table.schema)
            found = {"namespace": namespace, "name": name, "facets": self._facets.dataset(table, warnings)}
            self._datasets[key] = found
        return found

    def _identity(self, schema: Schema) -> tuple[str, str]:
        namespace = self.options.namespace_of(schema.key, consumer_tool(schema))
        if namespace is None:
            raise SettingsError(f"schema '{schema.key}' has no dataset namespace: give one for it or for all schemas")
        name = self.options.dataset_name(schema.key)
        other = self._identities.setdefault((namespace, name), schema.key)
        if other != schema.key:
            raise SettingsError(
                f"'{other}' and '{schema.key}' would both be the dataset {namespace} {name}: use another naming pattern"
            )
        return namespace, name

    def _output(self, key: str, lineage: Lineage) -> Json:
        dataset = self.dataset(key)
        fields = {path: self._column(entry) for (schema, path), entry in lineage.entries.items() if schema == key}
        if not fields:
            return dataset
        content: Json = {"fields": fields}
        if lineage.rows:
            content["dataset"] = self._input_fields(lineage.rows)
        facet = self._facets.standard("columnLineage", "Dataset", content)
        return {**dataset, "facets": {**dataset["facets"], "columnLineage": facet}}

    def _column(self, entry: Entry) -> Json:
        column: Json = {"inputFields": self._input_fields(entry.sources)}
        if entry.direct:
            column["transformationDescription"] = DIRECT_COPY
        elif entry.descriptions:
            column["transformationDescription"] = "; ".join(entry.descriptions)
        column["transformationType"] = "DIRECT" if entry.direct else "INDIRECT"
        return column

    def _input_fields(self, sources: Iterable[SourceField]) -> list[Json]:
        grouped: dict[tuple[str, str], list[SourceField]] = defaultdict(list)
        for source in sources:
            grouped[source.schema, source.field].append(source)
        return [self._input_field(*at, ways) for at, ways in grouped.items()]

    def _input_field(self, key: str, field: str, ways: list[SourceField]) -> Json:
        if key in self.resolver.tables:
            dataset = self.dataset(key)
            namespace, name = dataset["namespace"], dataset["name"]
        else:
            namespace = self.options.namespace_of(key, None) or ""
            name = self.options.dataset_name(key)
        return {
            "namespace": namespace,
            "name": name,
            "field": field,
            "transformations": [_transformation(way) for way in ways],
        }

    def _events(self, made: Exported, job: Json, inputs: list[Json], outputs: list[Json]) -> list[Exported]:
        """The events of a job, as the kind of event wants them."""
        name = job["name"]
        if self.options.event_kind == "job":
            event = {**self._base("JobEvent"), "job": job, "inputs": inputs, "outputs": outputs}
            return [replace(made, name=name, event=event)]
        kinds = ("START", "COMPLETE") if self.options.event_kind == "start-complete" else ("COMPLETE",)
        run = {"runId": run_id(self.options.job_namespace, name), "facets": {}}
        found: list[Exported] = []
        for kind in kinds:
            head = {"eventTime": self._time, "eventType": kind, **self._base("RunEvent")}
            event = {**head, "run": run, "job": job, "inputs": inputs, "outputs": outputs}
            filed = name if len(kinds) == 1 else f"{name}.{kind.lower()}"
            found.append(replace(made, name=filed, event=event))
        return found

    def dataset_event(self, schema: Schema) -> Exported:
        """A schema as an event of its own."""
        event = {**self._base("DatasetEvent"), "dataset": self.dataset(schema.key)}
        return Exported(f"{dotted(schema.key)}.dataset", event)

    def _base(self, kind: str) -> Json:
        return {
            "eventTime": self._time,
            "producer": self.options.producer,
            "schemaURL": CURRENT.event(kind),
        }


def _transformation(source: SourceField) -> Json:
    texts = {"copy": DIRECT_COPY, "inferred": FROM_REFERENCE}
    text = texts.get(source.how, source.description)
    kind, subtype = _HOW.get(source.how, ("INDIRECT", source.how))
    return transformation(kind, subtype, text, source.masks)


class _Comments:
    """Finds the `//!` and `//?` comments of schemas and mappings, each with the field of its line."""

    def __init__(self, spec: Spec) -> None:
        self._by_block: dict[tuple[str, str, str, int], list[Comment]] = defaultdict(list)
        self._by_fragment: dict[str, list[Comment]] = defaultdict(list)
        for comment in spec.comments:
            if comment.block_type == "fragment" and comment.block is not None:
                self._by_fragment[comment.block].append(comment)
            elif comment.block is not None and comment.block_type is not None:
                at = (comment.block_type, comment.file, comment.block, comment.block_line)
                self._by_block[at].append(comment)

    def of_schema(self, schema: Schema) -> list[tuple[Comment, str | None]]:
        """Comments in the schema, and those on the line of a field in a fragment that it spreads."""
        own: dict[int, str] = {}
        spread: dict[tuple[str, int], str] = {}
        for path, field in _walk(schema.fields, ""):
            for line in (field.line, field.end_line):
                if field.origin is None:
                    own[line] = path
                else:
                    spread[field.origin, line] = path
        at = ("schema", schema.file, schema.key, schema.line)
        found = [(comment, own.get(comment.line)) for comment in self._by_block.get(at, ())]
        for fragment in dict.fromkeys(origin for origin, _ in spread):
            comments = self._by_fragment.get(fragment, ())
            found += [(item, spread[fragment, item.line]) for item in comments if (fragment, item.line) in spread]
        return found

    def of_mapping(self, lineage: Lineage) -> list[tuple[Comment, str | None]]:
        """Comments in the mapping, with the target of the arrow on whose line they stand."""
        mapping = lineage.mapping
        comments = self._by_block.get(("mapping", mapping.file, mapping.key, mapping.line), ())
        return [(comment, lineage.arrow_lines.get(comment.line)) for comment in comments]


def _walk(fields: Iterable[object], prefix: str) -> Iterator[tuple[str, Field]]:
    for field in fields_only(fields):
        yield prefix + field.name, field
        yield from _walk(field.children or (), f"{prefix}{field.name}.")
