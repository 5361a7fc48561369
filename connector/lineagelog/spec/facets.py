"""The builder of facets: plain JSON values that say who made them and what they follow; nothing is validated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .versions import CURRENT, Edition, Holder

type Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FacetBuilder:
    """Makes facets in the name of one producer, in one edition of the specification."""

    producer: str
    edition: Edition = CURRENT

    def facet(self, key: str, holder: Holder, content: Mapping[str, Any]) -> Json:
        """A facet of the specification: its two marks, then its content."""
        return self.at(self.edition.facet(key, holder), content)

    def at(self, address: str, content: Mapping[str, Any]) -> Json:
        """A facet whose schema stands at an address of the producer's own."""
        return {"_producer": self.producer, "_schemaURL": address, **content}

    def completed(self, key: str, holder: Holder, given: Json) -> Json:
        """A facet that somebody else began, with the marks that it lacks: what it has stays, in its order."""
        given.setdefault("_producer", self.producer)
        given.setdefault("_schemaURL", self.edition.facet(key, holder))
        return given


def run_and_job(run_id: str, namespace: str, name: str) -> Json:
    """How the parent facet names a run: itself, and its ``root``."""
    return {"run": {"runId": run_id}, "job": {"namespace": namespace, "name": name}}


def error_message(message: str, language: str, stack_trace: str = "") -> Json:
    """The content of errorMessage; without a trace there is no member for it."""
    trace = {"stackTrace": stack_trace} if stack_trace else {}
    return {"message": message, "programmingLanguage": language, **trace}


def job_type(integration: str, kind: str) -> Json:
    """The content of jobType, for what runs in batches."""
    return {"processingType": "BATCH", "integration": integration, "jobType": kind}


def processing_engine(name: str, version: str, adapter: str) -> Json:
    """The content of processing_engine; ``adapter`` is the version of what makes the events."""
    return {"version": version, "name": name, "openlineageAdapterVersion": adapter}


def schema_field(name: str, kind: str | None = None, description: str | None = None) -> Json:
    """A column of the schema facet; what is None is left out."""
    given = {"name": name, "type": kind, "description": description}
    return {key: value for key, value in given.items() if value is not None}


def transformation(
    kind: str, subtype: str | None = None, description: str | None = None, masking: bool | None = None
) -> Json:
    """How a field gets into a column of columnLineage, DIRECT or INDIRECT; what is None is left out."""
    given = {"type": kind, "subtype": subtype, "description": description, "masking": masking}
    return {key: value for key, value in given.items() if value is not None}
