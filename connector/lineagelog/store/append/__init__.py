"""How events get in: a batch folded, written and committed in one transaction."""
