"""Exporters: lineage that other tools know, written as OpenLineage events. Pure: bytes in, values out."""
