"""How much and how long: what differs from what a job or dataset usually shows."""
