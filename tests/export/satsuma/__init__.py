"""Tests of the Satsuma exporter."""
