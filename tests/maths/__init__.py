"""Tests of the statistics behind the analyses."""
