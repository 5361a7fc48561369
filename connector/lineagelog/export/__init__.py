"""Exporters: what other tools know about lineage, as OpenLineage events. Pure: texts and values in, values out."""
