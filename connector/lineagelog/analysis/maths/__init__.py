"""The statistics of the analyses: pure functions over plain lists, without numpy, so that a command starts quickly."""
