"""On time or not: runs, data, and what was promised of them."""
