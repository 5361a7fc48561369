"""Anonymous PL/pgSQL blocks as statements, whatever names their text holds."""

from __future__ import annotations


def do_block(text: str, tag: str) -> str:
    """``DO`` with the block in dollar quotes; a tag that stands in the text (a schema may be named so) grows."""
    while f"${tag}$" in text:
        tag += "_"
    return f"DO ${tag}$ {text} ${tag}$"
