"""The command line: reads settings, wires the parts, prints for people or machines."""

from __future__ import annotations

from .app import main, make_app

__all__ = ["main", "make_app"]
