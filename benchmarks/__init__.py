"""Measurements of lineagelog, and the events they are made with."""
