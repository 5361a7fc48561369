"""The command line: reads settings, wires the parts, prints for people or machines."""

from __future__ import annotations

from .app import app, main

__all__ = ["app", "main"]
