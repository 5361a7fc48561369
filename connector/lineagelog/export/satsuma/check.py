"""Checks events against the OpenLineage schemas and our facet schemas, and counts what an export holds."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from lineagelog.spec import CURRENT, Departure, Validator, event_kind, facets_of, read_schemas

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lineagelog.export.satsuma.events import Export, Exported
    from lineagelog.export.satsuma.facets import Json


@dataclass(frozen=True, slots=True)
class Summary:
    """The numbers of an export. `columns_mapped` of `columns` target columns have lineage.

    `transforms` counts target fields whose lineage is not a plain copy, `natural_language` lists those of them that
    are described in prose (job, dataset, field, text); `unmapped_schemas` stand in no event; `facets` counts the
    datasets or jobs that carry each `satsuma_*` facet; `warnings` and `questions` are the `//!` and `//?` comments;
    `problems` are the findings about the spec, `failures` what the schemas reject.
    """

    events: int
    jobs: int
    datasets_in: int
    datasets_out: int
    columns: int
    columns_mapped: int
    transforms: int
    natural_language: tuple[dict[str, str], ...]
    facets: dict[str, int]
    warnings: int
    questions: int
    unmapped_schemas: tuple[str, ...]
    problems: tuple[str, ...]
    failures: tuple[str, ...]

    def as_json(self) -> Json:
        """The summary as a JSON object."""
        return asdict(self)

    def lines(self) -> Iterator[str]:
        """The summary for people, a line per number."""
        coverage = f" ({100 * self.columns_mapped / self.columns:.0f} %)" if self.columns else ""
        numbers = {
            "events": self.events,
            "jobs": self.jobs,
            "datasets": f"{self.datasets_in} in, {self.datasets_out} out",
            "column coverage": f"{self.columns_mapped} of {self.columns} target columns{coverage}",
            "transforms": f"{self.transforms} target fields that are no plain copy",
            "in natural language": f"{len(self.natural_language)} of them",
            **self.facets,
            "warnings (//!)": self.warnings,
            "questions (//?)": self.questions,
            "schemas unmapped": len(self.unmapped_schemas),
            "problems": len(self.problems),
            "schema failures": len(self.failures),
        }
        yield from (f"{name:<23}{value}" for name, value in numbers.items())
        if self.natural_language:
            yield from ("", "Transforms in natural language (INDIRECT lineage), as a person has to read them:")
            for item in self.natural_language:
                yield f"  {item['job']}: {item['dataset']}.{item['field']}: {' '.join(item['text'].split())}"


def summarize(export: Export, failures: Iterable[str] = ()) -> Summary:
    """Count what an export holds; `failures` are those that validate() found."""
    jobs: set[str] = set()
    sides: dict[str, dict[tuple[str, str], Json]] = {"inputs": {}, "outputs": {}}
    carriers: dict[tuple[str, str, str], Json] = {}
    covered: set[tuple[str, str]] = set()
    targets: set[str] = set()
    transforms = {item.event["job"]["name"]: item.transforms for item in export.events if "job" in item.event}
    for item in export.events:
        job = item.event.get("job")
        if job is not None:
            jobs.add(job["name"])
            carriers["job", "", job["name"]] = job["facets"]
        for side, found in sides.items():
            for dataset in _datasets(item.event, side):
                found[dataset["namespace"], dataset["name"]] = dataset
                carriers["dataset", dataset["namespace"], dataset["name"]] = dataset["facets"]
        covered.update(item.covered)
        targets.update(item.targets)
    columns = [(key, column.path) for key in sorted(targets) for column in export.resolver.tables[key].columns]
    comments = Counter(entry["type"] for facets in carriers.values() for entry in _warnings(facets))
    own = Counter(name for facets in carriers.values() for name in facets if name.startswith("satsuma_"))
    return Summary(
        events=len(export.events),
        jobs=len(jobs),
        datasets_in=len(sides["inputs"]),
        datasets_out=len(sides["outputs"]),
        columns=len(columns),
        columns_mapped=sum(1 for key, path in columns if _is_covered(key, path, covered)),
        transforms=sum(transforms.values()),
        natural_language=tuple(_natural_language(export)),
        facets=dict(sorted(own.items())),
        warnings=comments["data_quality"],
        questions=comments["open_question"],
        unmapped_schemas=tuple(schema.key for schema in export.unmapped),
        problems=tuple(map(str, export.problems)),
        failures=tuple(failures),
    )


def _natural_language(export: Export) -> Iterator[dict[str, str]]:
    """Each prose transform once, whatever the number of the job's events."""
    told: set[tuple[str, str, str]] = set()
    for item in export.events:
        for dataset, path, text in item.prose:
            job = item.event["job"]["name"]
            if (job, dataset, path) not in told:
                told.add((job, dataset, path))
                yield {"job": job, "dataset": dataset, "field": path, "text": text}


def _warnings(facets: Json) -> list[Json]:
    found: list[Json] = facets.get("satsuma_warnings", {}).get("warnings", [])
    return found


def _is_covered(key: str, path: str, covered: set[tuple[str, str]]) -> bool:
    """Whether the column or a record around it has lineage."""
    parts = path.split(".")
    return any((key, ".".join(parts[:end])) in covered for end in range(1, len(parts) + 1))


def _datasets(event: Json, side: str) -> list[Json]:
    found: list[Json] = event.get(side, [])
    return [*found, event["dataset"]] if side == "outputs" and "dataset" in event else found


def validate(events: Iterable[Exported], progress: Callable[[int], None] | None = None) -> list[str]:
    """What is wrong with the events, a line each; an empty list when all is well.

    Raises SettingsError where jsonschema-rs (extra `export`) is not installed.
    """
    checker = _Checker()
    failures: list[str] = []
    for number, item in enumerate(events, 1):
        failures += checker.check(item)
        if progress is not None:
            progress(number)
    return failures


class _Checker:
    """Validates events one by one; a facet that several events share is looked at once."""

    def __init__(self) -> None:
        self._validator = _validator()
        self._runs: set[tuple[str, str]] = set()
        self._seen: dict[int, Json] = {}  # keeps the facets alive, so that an id means one facet

    def check(self, item: Exported) -> Iterator[str]:
        event = item.event
        kind = event_kind(event)
        if kind is None or event.get("schemaURL") != CURRENT.event(kind):
            yield f"{item.name}: schemaURL is '{event.get('schemaURL')}'"
            return
        yield from (_line(item, departure) for departure in self._validator.event(kind, event))
        if "run" in event:
            run = (event["run"]["runId"], event["eventType"])
            if run in self._runs:
                yield f"{item.name}: the run id {run[0]} is not the only {run[1]} of its kind"
            self._runs.add(run)
        for facet in facets_of(event):
            if facet.key == "columnLineage" and facet.place[0] == "inputs":
                yield _line(item, Departure(facet.place, "columnLineage belongs to outputs"))
            if id(facet.content) not in self._seen:
                self._seen[id(facet.content)] = facet.content
                found = (*self._validator.unknown(facet), *self._validator.facet(facet))
                yield from (_line(item, departure) for departure in found)


def _line(item: Exported, departure: Departure) -> str:
    """The event, the dataset by its name, the place and what is wrong there."""
    place: list[object] = list(departure.place)
    if len(place) > 1 and place[0] in ("inputs", "outputs"):
        place[1] = f"{place[1]} ({item.event[str(place[0])][place[1]].get('name')})"
    return f"{item.name}: {'/'.join(map(str, place))}: {departure.message}"


@cache
def _validator() -> Validator:
    """The specification and our own facets."""
    return Validator(facets=read_schemas(resources.files(__package__) / "schemas"))
