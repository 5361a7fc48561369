"""What becomes of findings."""
