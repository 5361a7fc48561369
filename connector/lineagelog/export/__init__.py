"""Exporters: documents that describe lineage, to OpenLineage events. Pure: bytes in, values out."""
