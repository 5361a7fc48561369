"""What runs in the background of `serve`: tasks, each led by one process per store."""
