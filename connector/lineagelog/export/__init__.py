"""Exporters: what other tools know about lineage, as OpenLineage events; pure, values in and values out."""
