"""What tests and assertions say from run to run."""
