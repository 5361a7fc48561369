"""Field paths of documents: `$a.b`, `a.b`, `$['odd name']`, `$rows[*].x`; array steps do not make a segment.

A path is the tuple of its names; `()` is the whole document.
"""

from __future__ import annotations

type Path = tuple[str, ...]

ROOT: Path = ()


def parse_path(text: str) -> Path:
    """The names along a path, with or without `$`. Never fails: what is no path syntax is part of a name."""
    text = text.strip()
    at = 1 if text.startswith("$") else 0
    names: list[str] = []
    while at < len(text):
        if text[at] == ".":
            at += 1
        elif text[at] == "[":
            at, name = _bracket(text, at)
            if name:
                names.append(name)
        else:
            end = _name_end(text, at)
            names.append(text[at:end].strip())
            at = end
    return tuple(name for name in names if name and name != "*")


def format_path(path: Path) -> str:
    """A path as a column name: names joined by dots."""
    return ".".join(path)


def starts_with(path: Path, prefix: Path) -> bool:
    """Whether `path` is `prefix` or lies below it."""
    return path[: len(prefix)] == prefix


def _name_end(text: str, at: int) -> int:
    while at < len(text) and text[at] not in ".[":
        at += 1
    return at


def _bracket(text: str, at: int) -> tuple[int, str]:
    """The end of `[...]` and the name in it: a quoted name, or "" for an index, `*`, a filter or
    `(value.length)`."""
    inner = at + 1
    while inner < len(text) and text[inner] == " ":
        inner += 1
    if inner < len(text) and text[inner] in "'\"":
        end = text.find(text[inner], inner + 1)
        if end > 0:
            close = text.find("]", end)
            return (close + 1 if close > 0 else len(text)), text[inner + 1 : end]
    close = text.find("]", at)
    return (close + 1, "") if close > 0 else (len(text), "")
