"""The OpenLineage log store for Egeria."""
