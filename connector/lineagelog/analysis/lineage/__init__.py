"""What changed, broke or reached what: lineage and schemas from run to run."""
