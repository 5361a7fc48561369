"""What commands that ask analyses have in common: options of the window, completion of names, a severity."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from lineagelog.analysis import Severity, analyses
from lineagelog.errors import SettingsError

WINDOW: Final = "Which part of the log"
"""The panel of these options in the help."""

AskedSince = Annotated[
    str,
    typer.Option(
        metavar="TIME", rich_help_panel=WINDOW, help="From: 2026-03-01, 2026-03-01T08:00Z, -7d (s m h d w) or all."
    ),
]
AskedUntil = Annotated[str, typer.Option(metavar="TIME", rich_help_panel=WINDOW, help="Before: the same, or now.")]
AsOf = Annotated[
    str | None, typer.Option(metavar="TIME", rich_help_panel=WINDOW, help="The clock of lateness, else --until.")
]


def complete_name(incomplete: str) -> list[tuple[str, str]]:
    """Names of analyses and their questions, for the shell's completion."""
    start = incomplete.replace("-", "_")
    return [(name, each.question) for name, each in analyses().items() if name.startswith(start)]


def severity_of(option: str, text: str | None) -> Severity | None:
    """The severity that an option names. Raises SettingsError that lists them."""
    if text is None:
        return None
    try:
        return Severity(text.lower())
    except ValueError:
        raise SettingsError(f"{option} takes {', '.join(Severity)}, not {text[:40]!r}") from None
