"""What arrives, and what it holds: questions to the events themselves, not to the digest."""
