"""The validator: events and their facets against JSON schemas, the vendored ones and what others register, offline."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, Final, NamedTuple, NoReturn

from lineagelog.errors import SettingsError

from .facets import Json
from .paths import json_path
from .versions import CORE, Holder

type Place = tuple[str | int, ...]

_EVENTS: Final = {"run": "RunEvent", "dataset": "DatasetEvent", "job": "JobEvent"}
_CONTAINERS: Final = ("facets", "inputFacets", "outputFacets")
_DATASETS: Final[dict[str, Holder]] = {
    "facets": "Dataset",
    "inputFacets": "InputDataset",
    "outputFacets": "OutputDataset",
}
_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_LONGEST: Final = 500


class Departure(NamedTuple):
    """A place of an event, from its root, and how it departs from the schema: one line that shows no value."""

    place: Place
    message: str

    @property
    def path(self) -> str:
        """The place as JSON path."""
        return json_path(self.place)

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class PlacedFacet(NamedTuple):
    """A facet where it stands: what it belongs to, its place (the key is the last step) and its content."""

    holder: Holder
    place: Place
    content: Json

    @property
    def key(self) -> str:
        """The facet's key."""
        return str(self.place[-1])

    @property
    def address(self) -> str:
        """What it names as its schema; "" for none."""
        address = self.content.get("_schemaURL")
        return address if type(address) is str else ""


class Validator:
    """Compiled schemas: the specification's, and registered ones of facets and events that it does not have.

    ``facets``: schemas as the specification has them, the definition under ``$defs``, the key under ``properties``.
    ``others``: schemas of anything, asked for by `whole`. Each has an ``$id``. Raises SettingsError where jsonschema-rs
    is not installed.
    """

    def __init__(self, facets: Iterable[Json] = (), others: Iterable[Json] = ()) -> None:
        core, *vendored = _vendored()
        known = [*vendored, *facets]
        self._compile = _Compiler([core, *known, *others])
        self._events = {kind: self._compile(f"{CORE}#/$defs/{kind}") for kind in _EVENTS.values()}
        self._facets: dict[tuple[str, str], _FacetSchema] = {}
        for schema in known:
            names = frozenset(name for name in schema["$defs"] if name.endswith("Facet"))
            for key, definition in schema["properties"].items():
                compiled = self._compile(f"{schema['$id']}#/properties/{key}")
                own = str(definition.get("$ref", "")).removeprefix("#/$defs/")
                self._facets[schema["$id"], key] = _FacetSchema(compiled, own, names)

    def departures(self, event: Json) -> Iterator[Departure]:
        """All in which an event departs from the core schema, and each facet from the version that it names."""
        if (kind := event_kind(event)) is not None:
            yield from self.event(kind, event)
        for facet in facets_of(event):
            yield from self.facet(facet)

    def event(self, kind: str, event: Any) -> Iterable[Departure]:
        """Where an event departs from its definition in the core schema, RunEvent, JobEvent or DatasetEvent."""
        return _departures(self._events[kind], event, ())

    def facet(self, facet: PlacedFacet) -> Iterable[Departure]:
        """Where a facet departs from the schema that it names; nothing is said of one that names no known schema."""
        schema = self._facets.get((facet.address.partition("#")[0], facet.key))
        if schema is None or facet.content.get("_deleted") is True:
            return ()
        return _departures(schema.compiled, facet.content, facet.place)

    def unknown(self, facet: PlacedFacet) -> Iterator[Departure]:
        """Whether a facet names no known schema of its key, or one that does not belong where it stands."""
        document, _, pointer = facet.address.partition("#")
        schema = self._facets.get((document, facet.key))
        name = pointer.removeprefix("/$defs/") if pointer else schema.name if schema else ""
        if schema is None or (pointer and name not in schema.names):
            yield Departure(facet.place, f"_schemaURL is '{facet.address}', where no schema is known for this facet")
        elif not _belongs(name, facet.holder):
            yield Departure(facet.place, f"the schema '{facet.address}' is not for a facet of {facet.holder}")

    def whole(self, address: str, value: Any) -> Iterable[Departure]:
        """Where a value departs from the whole schema of this ``$id``."""
        return _departures(self._compile(address), value, ())


class _FacetSchema(NamedTuple):
    """The schema of a facet: compiled, the definition of its key ("" for a choice of several), all definitions."""

    compiled: Any
    name: str
    names: frozenset[str]


class _Compiler:
    """Makes validators by address, each once."""

    def __init__(self, schemas: Iterable[Json]) -> None:
        try:
            import jsonschema_rs
        except ImportError:
            raise SettingsError(
                "checking events against their schemas needs jsonschema-rs: "
                "pip install 'lineagelog[strict]' (the extra 'export' has it too)"
            ) from None
        self._library = jsonschema_rs
        self._registry = jsonschema_rs.Registry([(schema["$id"], schema) for schema in schemas], retriever=_no_network)
        self._made: dict[str, Any] = {}

    def __call__(self, address: str) -> Any:
        if address not in self._made:
            self._made[address] = self._library.validator_for(
                {"$schema": _DRAFT, "$ref": address},
                registry=self._registry,
                validate_formats=True,
                mask="the value",  # values may be secret, and long
            )
        return self._made[address]


@cache
def specification() -> Validator:
    """The validator of the specification alone, compiled once. Raises SettingsError without jsonschema-rs."""
    return Validator()


def validator_is_installed() -> bool:
    """Whether there is what a Validator needs."""
    return importlib.util.find_spec("jsonschema_rs") is not None


def read_schemas(folder: Traversable) -> list[Json]:
    """The schemas of a folder and the folders in it, in the order of their names."""
    found: list[Json] = []
    for entry in sorted(folder.iterdir(), key=lambda item: item.name):
        if entry.is_dir():
            found += read_schemas(entry)
        elif entry.name.endswith(".json"):
            found.append(json.loads(entry.read_text("utf-8")))
    return found


def event_kind(event: Json) -> str | None:
    """The definition that an event's members ask for; None if it has none of run, dataset and job."""
    return next((kind for member, kind in _EVENTS.items() if event.get(member) is not None), None)


def facets_of(event: Json) -> Iterator[PlacedFacet]:
    """Every facet of an event, wherever it stands; what is no facet by its shape is passed over."""
    parts: list[tuple[Place, Any]] = [((member,), event.get(member)) for member in ("run", "job", "dataset")]
    for side in ("inputs", "outputs"):
        entries = event.get(side)
        if type(entries) is list:
            parts += [((side, index), entry) for index, entry in enumerate(entries)]
    for place, part in parts:
        for container in _CONTAINERS if type(part) is dict else ():
            facets = part.get(container)
            if type(facets) is dict and facets:
                holder = _holder(place, container)
                for key, content in facets.items():
                    if type(content) is dict:
                        yield PlacedFacet(holder, (*place, container, key), content)


def _holder(place: Place, container: str) -> Holder:
    return "Run" if place[0] == "run" else "Job" if place[0] == "job" else _DATASETS[container]


def _belongs(definition: str, holder: Holder) -> bool:
    """Whether a definition of this name is for such a facet; a choice of several has no name and says it itself."""
    for side in ("InputDataset", "OutputDataset"):
        if definition.endswith(f"{side}Facet"):
            return holder == side
    if definition.endswith("DatasetFacet"):  # a dataset's quality may stand with what is read
        return holder.endswith("Dataset")
    return not definition or definition.endswith(f"{holder}Facet")


@cache
def _vendored() -> tuple[Json, ...]:
    """The schemas of this package, the core schema first."""
    return tuple(read_schemas(resources.files(__package__) / "schemas"))


def _no_network(address: str) -> NoReturn:
    raise ValueError(f"{address} is not among the schemas of this package")


def _departures(schema: Any, value: Any, place: Place) -> Iterable[Departure]:
    try:
        return () if schema.is_valid(value) else _told(schema.iter_errors(value), place)
    except ValueError as problem:  # nested deeper than the validator goes
        return (Departure(place, f"cannot be checked: {problem}"),)


def _told(errors: Iterable[Any], place: Place) -> Iterator[Departure]:
    for error in errors:
        innermost = _innermost(error)
        message = " ".join(innermost.message[:_LONGEST].split())
        yield Departure((*place, *innermost.instance_path), message)


def _innermost(error: Any) -> Any:
    """Of anyOf with one choice: what is wrong with that one."""
    branches: Any = getattr(error.kind, "context", ())
    while len(branches) == 1:
        error = branches[0][0]
        branches = getattr(error.kind, "context", ())
    return error
