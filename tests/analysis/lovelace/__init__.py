"""Tests of the parity with Egeria's Lovelace services."""
