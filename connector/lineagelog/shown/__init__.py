"""What leaves for people: without credentials, and with control characters shown instead of obeyed. Pure and light."""

from __future__ import annotations

from .controls import json_visible, one_line, visible
from .figures import counted, duration, place, size
from .names import names_a_secret
from .secrets import MASK, mask_text, mask_url
from .trees import mask_tree

__all__ = [
    "MASK",
    "counted",
    "duration",
    "for_people",
    "json_visible",
    "line_for_people",
    "mask_text",
    "mask_tree",
    "mask_url",
    "names_a_secret",
    "one_line",
    "place",
    "size",
    "visible",
]


def for_people(text: str) -> str:
    """A text as a person may see it: no credentials, no control characters but newlines and tabs."""
    return visible(mask_text(text))


def line_for_people(text: str) -> str:
    """As for_people, on one line."""
    return one_line(mask_text(text))
