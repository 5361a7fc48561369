"""Schemas of datasets from the job's own connections, which are left as they were found."""
