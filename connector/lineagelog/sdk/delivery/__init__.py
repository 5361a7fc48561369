"""The way of an event out of the process: background delivery, forks, ends, and runs whose process died."""
