"""The versions of the specification that we write: one line per facet, and how an event spells their addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, Literal

type Holder = Literal["Run", "Job", "InputDataset", "OutputDataset", "Dataset"]
"""What a facet belongs to; InputDataset and OutputDataset are a dataset's inputFacets and outputFacets."""

SITE: Final = "https://openlineage.io/spec"
CORE: Final = f"{SITE}/2-0-2/OpenLineage.json"
"""The core schema: the events, and the base of every facet."""

_HOLDERS: Final[tuple[Holder, ...]] = ("Run", "Job", "InputDataset", "OutputDataset", "Dataset")


@dataclass(frozen=True, slots=True)
class FacetDefinition:
    """A facet of the specification: its key in events, the name of its definition, the version and file of both."""

    key: str
    name: str
    version: str
    file: str = ""
    """Where the file is not called like the definition."""

    @property
    def holder(self) -> Holder:
        """What the facet belongs to, as the definition's name says."""
        return next(holder for holder in _HOLDERS if self.name.endswith(f"{holder}Facet"))

    @property
    def document(self) -> str:
        """The address of the file."""
        return f"{SITE}/facets/{self.version}/{self.file or self.name}.json"

    @property
    def address(self) -> str:
        """The address of the definition in its file."""
        return f"{self.document}#/$defs/{self.name}"


_CURRENT: Final = (
    FacetDefinition("catalog", "CatalogDatasetFacet", "1-1-0"),
    FacetDefinition("columnLineage", "ColumnLineageDatasetFacet", "1-2-0"),
    FacetDefinition("dataQualityAssertions", "DataQualityAssertionsDatasetFacet", "1-1-0"),
    FacetDefinition("dataQualityMetrics", "DataQualityMetricsDatasetFacet", "1-0-0"),
    FacetDefinition("dataQualityMetrics", "DataQualityMetricsInputDatasetFacet", "1-0-3"),
    FacetDefinition("dataSource", "DatasourceDatasetFacet", "1-0-1"),
    FacetDefinition("datasetType", "DatasetTypeDatasetFacet", "1-0-1"),
    FacetDefinition("documentation", "DocumentationDatasetFacet", "1-1-0"),
    FacetDefinition("documentation", "DocumentationJobFacet", "1-1-0"),
    FacetDefinition("environmentVariables", "EnvironmentVariablesRunFacet", "1-0-0"),
    FacetDefinition("errorMessage", "ErrorMessageRunFacet", "1-0-1"),
    FacetDefinition("executionParameters", "ExecutionParametersRunFacet", "1-0-0"),
    FacetDefinition("externalQuery", "ExternalQueryRunFacet", "1-0-2"),
    FacetDefinition("extractionError", "ExtractionErrorRunFacet", "1-1-2"),
    FacetDefinition("hierarchy", "HierarchyDatasetFacet", "1-0-0"),
    FacetDefinition("inputStatistics", "InputStatisticsInputDatasetFacet", "1-0-0"),
    FacetDefinition("jobDependencies", "JobDependenciesRunFacet", "1-0-1"),
    FacetDefinition("jobType", "JobTypeJobFacet", "2-0-4"),
    FacetDefinition("lifecycleStateChange", "LifecycleStateChangeDatasetFacet", "1-0-1"),
    FacetDefinition("lineage", "LineageDatasetFacet", "1-0-0", "LineageFacet"),
    FacetDefinition("lineage", "LineageJobFacet", "1-0-0", "LineageFacet"),
    FacetDefinition("nominalTime", "NominalTimeRunFacet", "1-0-1"),
    FacetDefinition("outputStatistics", "OutputStatisticsOutputDatasetFacet", "1-0-2"),
    FacetDefinition("ownership", "OwnershipDatasetFacet", "1-0-1"),
    FacetDefinition("ownership", "OwnershipJobFacet", "1-0-1"),
    FacetDefinition("parent", "ParentRunFacet", "1-2-0"),
    FacetDefinition("processing_engine", "ProcessingEngineRunFacet", "1-1-1"),
    FacetDefinition("schema", "SchemaDatasetFacet", "1-2-0"),
    FacetDefinition("sourceCode", "SourceCodeJobFacet", "1-0-1"),
    FacetDefinition("sourceCodeLocation", "SourceCodeLocationJobFacet", "1-1-0"),
    FacetDefinition("sql", "SQLJobFacet", "1-1-0"),
    FacetDefinition("storage", "StorageDatasetFacet", "1-0-1"),
    FacetDefinition("subset", "InputSubsetInputDatasetFacet", "1-0-0", "BaseSubsetDatasetFacet"),
    FacetDefinition("subset", "OutputSubsetOutputDatasetFacet", "1-0-0", "BaseSubsetDatasetFacet"),
    FacetDefinition("symlinks", "SymlinksDatasetFacet", "1-0-1"),
    FacetDefinition("tags", "TagsDatasetFacet", "1-0-0"),
    FacetDefinition("tags", "TagsJobFacet", "1-0-0"),
    FacetDefinition("tags", "TagsRunFacet", "1-0-0"),
    FacetDefinition("test", "TestRunFacet", "1-0-1"),
    FacetDefinition("version", "DatasetVersionDatasetFacet", "1-0-1"),
)
DEFINITIONS: Final[Mapping[str, FacetDefinition]] = MappingProxyType({found.name: found for found in _CURRENT})
"""The facets of the vendored schemas, by the name of their definition."""

_FIRST: Final = {
    "ColumnLineageDatasetFacet": "1-0-1",
    "ErrorMessageRunFacet": "1-0-0",
    "InputStatisticsInputDatasetFacet": "1-0-0",
    "OutputStatisticsOutputDatasetFacet": "1-0-0",
    "ParentRunFacet": "1-0-0",
    "SchemaDatasetFacet": "1-0-0",
}


class Edition:
    """A state of the specification as events are written in it, and whether addresses point into the facets' files."""

    def __init__(self, definitions: Mapping[str, FacetDefinition], events: str, *, pointers: bool) -> None:
        self._facets = {(found.key, found.holder): found for found in definitions.values()}
        self._events, self._pointers = events, pointers

    def event(self, kind: str) -> str:
        """The address of an event's definition: RunEvent, JobEvent or DatasetEvent."""
        return self._events + kind

    def facet(self, key: str, holder: Holder) -> str:
        """The address of a facet's schema; the base facet's for one that the specification does not have.

        What it has for datasets may stand in their inputFacets and outputFacets too: dataQualityAssertions does.
        """
        found = self._facets.get((key, holder))
        if found is None and holder in ("InputDataset", "OutputDataset"):
            found = self._facets.get((key, "Dataset"))
        if found is None:
            return f"{self._events}{holder}Facet"
        return found.address if self._pointers else found.document


CURRENT: Final = Edition(DEFINITIONS, f"{CORE}#/$defs/", pointers=True)
"""Specification 2-0-2."""
CURRENT_FILES: Final = Edition(DEFINITIONS, f"{CORE}#/$defs/", pointers=False)
"""Specification 2-0-2, a facet's address being that of its file."""
FIRST_FILES: Final = Edition(
    {name: replace(DEFINITIONS[name], version=version) for name, version in _FIRST.items()},
    f"{SITE}/1-0-0/OpenLineage.json#/definitions/",
    pointers=False,
)
"""Specification 1-0-0, as SnapLogic documents its events; not among the vendored schemas."""
