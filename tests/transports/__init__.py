"""Tests across transports."""
