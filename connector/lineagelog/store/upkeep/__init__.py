"""What keeps the store right and small: purge, verify, statistics, health."""
