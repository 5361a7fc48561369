"""Lays SQL out to be read: clauses and list items on lines of their own where a line would be too long.

Only white space between tokens is changed. What is in quotes stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

WIDTH: Final = 118
_TOKEN: Final = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|[(),]|\s+|[^\s(),'"]+""")
_CLAUSES: Final = frozenset(
    ("FROM", "WHERE", "VALUES", "ON", "RETURNING", "ORDER", "UNION", "LIMIT", "SELECT", "GROUP", "DO", "SET")
)
"""What begins a line at the margin of its statement."""
_PARTS: Final = frozenset(("AND", "OR", "WHEN", "THEN", "ELSE", "END"))
"""What begins a line within a clause."""

type _Node = str | list[_Node]
"""A token, or what stands in a pair of parentheses."""


def laid_out(statement: str) -> str:
    """The statement on as many lines as it needs; the same tokens in the same order."""
    tokens = [" " if token.isspace() else token for token in _TOKEN.findall(statement.strip())]
    if tokens[0] == "COMMENT" and len("".join(tokens)) > WIDTH:
        tokens[tokens.index("IS") - 1] = "\n  "
        return "".join(tokens)
    return _lines(_tree(iter(tokens)), 0)


def _tree(pieces: Iterator[str]) -> list[_Node]:
    """The tokens up to the end of the parentheses that they begin in; the calls share the iterator."""
    nodes: list[_Node] = []
    for piece in pieces:
        if piece == ")":
            break
        nodes.append(_tree(pieces) if piece == "(" else piece)
    return nodes


def _flat(nodes: list[_Node]) -> str:
    return "".join(node if isinstance(node, str) else f"({_flat(node)})" for node in nodes)


def _lines(nodes: list[_Node], margin: int, item: int = 2) -> str:
    """The nodes from ``margin`` on, in one line if they fit; list items are indented by ``item``."""
    if margin + len(_flat(nodes)) <= WIDTH:
        return _flat(nodes)
    chunks = _chunks(nodes, item)
    if len(chunks) == 1:
        return _opened(nodes, margin)
    lines = [_chunk(chunks[0][1], margin)]
    for place, (depth, chunk) in enumerate(chunks[1:], 1):
        text = _chunk(chunk, margin + depth)
        begun = len(lines[-1]) + (margin if len(lines) == 1 else 0)
        follows = chunks[place - 1][1][-1:] == [","] and "\n" not in text + lines[-1]
        if follows and begun + 1 + len(text) <= WIDTH:
            lines[-1] += f" {text}"
        else:
            lines.append(" " * (margin + depth) + text)
    return "\n".join(lines)


def _chunks(nodes: list[_Node], item: int) -> list[tuple[int, list[_Node]]]:
    """The nodes cut before clauses and parts and after commas, each with how far it is indented."""
    chunks: list[tuple[int, list[_Node]]] = [(0, [])]
    for node in nodes:
        if isinstance(node, str) and (node in _CLAUSES or node in _PARTS):
            chunks.append((0 if node in _CLAUSES else 2, []))
        elif chunks[-1][1][-1:] == [","] and node == " ":
            chunks.append((item, []))
            continue
        chunks[-1][1].append(node)
    stripped = [(depth, _stripped(chunk)) for depth, chunk in chunks]
    return [(depth, chunk) for depth, chunk in stripped if chunk]


def _stripped(chunk: list[_Node]) -> list[_Node]:
    while chunk and chunk[0] == " ":
        chunk = chunk[1:]
    while chunk and chunk[-1] == " ":
        chunk = chunk[:-1]
    return chunk


def _chunk(chunk: list[_Node], margin: int) -> str:
    return _flat(chunk) if margin + len(_flat(chunk)) <= WIDTH else _opened(chunk, margin)


def _opened(nodes: list[_Node], margin: int) -> str:
    """A chunk that is too long: its longest parentheses on lines of their own, and further ones until it fits."""
    groups = sorted((node for node in nodes if isinstance(node, list)), key=lambda node: -len(_flat(node)))
    opened: list[int] = []
    rest = len(_flat(nodes))
    for group in groups:
        if margin + rest <= WIDTH:
            break
        opened.append(id(group))
        rest -= len(_flat(group))
    parts = []
    for node in nodes:
        if isinstance(node, list) and id(node) in opened:
            inner = " " * (margin + 2) + _lines(node, margin + 2, 0)
            parts.append(f"(\n{inner}\n{' ' * margin})")
        else:
            parts.append(node if isinstance(node, str) else f"({_flat(node)})")
    return "".join(parts)
