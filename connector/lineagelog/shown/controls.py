"""Control characters in texts: shown as escapes, so that no name rewrites the terminal of whoever reads it."""

from __future__ import annotations

import re
from typing import Final

_INVISIBLE: Final = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and newline, DEL, C1
    "\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f"  # lone surrogates, which no output can encode, and invisible tags
)
"""U+200C and U+200D are left out: Persian, Hindi and emoji are not spelt without them."""
_CONTROL: Final = re.compile(f"[{_INVISIBLE}]")
_PLAIN: Final = re.compile(r"[\t\n -~]*")


def visible(text: str) -> str:
    r"""The text with control characters and invisible format characters as escapes (``\x1b``, ``\u202e``).

    Newlines and tabs stay; an end of line is a newline.
    """
    if _PLAIN.fullmatch(text):
        return text
    return _CONTROL.sub(_escape, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """As visible, with each run of white space as one space."""
    return " ".join(visible(text).split())


def json_visible(document: str) -> str:
    r"""The same JSON with those characters as ``\uXXXX``: orjson escapes only C0."""
    return document if _PLAIN.fullmatch(document) else _CONTROL.sub(_json_escape, document)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(match: re.Match[str]) -> str:
    if match[0] == "\r":  # outside of a string: white space
        return "\r"
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[place]:02x}{units[place + 1]:02x}" for place in range(0, len(units), 2))
