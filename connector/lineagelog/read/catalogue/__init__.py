"""Jobs and datasets themselves: what they are, who owns them, and what is found by a text."""
