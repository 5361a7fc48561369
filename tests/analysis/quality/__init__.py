"""Tests of the analyses of this folder of `analysis/`."""
