"""The OpenLineage specification: its schemas, the versions that we write, a builder of facets and one validator."""

from .facets import (
    FacetBuilder,
    Json,
    error_message,
    job_type,
    processing_engine,
    run_and_job,
    schema_field,
    transformation,
)
from .paths import json_path, path_step
from .validator import (
    Departure,
    PlacedFacet,
    Validator,
    event_kind,
    facets_of,
    read_schemas,
    specification,
    validator_is_installed,
)
from .versions import CORE, CURRENT, CURRENT_FILES, DEFINITIONS, FIRST_FILES, Edition, FacetDefinition, Holder

__all__ = [
    "CORE",
    "CURRENT",
    "CURRENT_FILES",
    "DEFINITIONS",
    "FIRST_FILES",
    "Departure",
    "Edition",
    "FacetBuilder",
    "FacetDefinition",
    "Holder",
    "Json",
    "PlacedFacet",
    "Validator",
    "error_message",
    "event_kind",
    "facets_of",
    "job_type",
    "json_path",
    "path_step",
    "processing_engine",
    "read_schemas",
    "run_and_job",
    "schema_field",
    "specification",
    "transformation",
    "validator_is_installed",
]
