"""What Egeria's Lovelace services say of runs, datasets and results: the same names, numbers and words."""
