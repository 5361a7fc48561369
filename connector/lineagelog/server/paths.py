"""The paths that OpenLineage clients post to, and whether they are meant for batches."""

from __future__ import annotations

from typing import Final

SINGLE: Final[dict[str, str]] = {
    "/api/v1/lineage": "OpenLineage, Marquez, Feast, Datadog",
    "/openapi/openlineage/api/v1/lineage": "DataHub",
    "/api/v2/lineage": "DataHub as its documentation long had it",
    "/api/v1/openlineage/lineage": "OpenMetadata",
    "/api/openlineage/v1/lineage": "Apache Polaris",
    "/api/lineage": "Apache Gravitino",
    "/v1/openlineage": "Data.Rentgen",
}
"""Path to whose clients use it. Each has a sibling ``/batch``."""

BATCH: Final[dict[str, str]] = {f"{path}/batch": clients for path, clients in SINGLE.items()}

RECEIVING: Final[dict[str, bool]] = {
    path + slash: is_batch
    for paths, is_batch in ((SINGLE, False), (BATCH, True))
    for path in paths
    for slash in ("", "/")
}
"""Path, with and without trailing slash, to whether it is a batch path. Nobody is redirected: a POST that follows
a 301 becomes a GET and the event is lost."""
