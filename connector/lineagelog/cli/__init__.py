"""The command line: reads settings, wires the parts, prints for people or machines."""

from __future__ import annotations


def main() -> None:
    """Run the `lineagelog` command."""
    raise SystemExit("lineagelog: not built yet")
