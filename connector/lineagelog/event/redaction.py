"""Masks credentials in the JSON text of an event, by the rules for all that leaves (`lineagelog.shown`)."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import orjson

from lineagelog.shown import mask_tree

from .parse import decode

_HINTS: Final = (
    *(b"pwd", b"secret", b"token", b"credential", b"bearer ", b"basic ", b"identified", b"signature", b"sig=", b"jaas"),
    *(b"github_pat_", b"glpat-", b"xox", b"akia", b"aiza", b"eyj", b"llg_", b"dapi", b"private key", b"jdbc:oracle"),
)
"""What an event with credentials cannot be without, but for the next; escapes could hide any of it."""
_MORE_HINTS: Final = tuple(
    map(
        re.compile,
        (
            *(rb"pass(?:w|phrase|code)", rb"\\[u/]", rb"auth(?:ori[sz]|[\"'_=\-.]|\s{0,20}=)"),
            *(rb"gh[oprsu]_", rb"asia[a-z0-9]{16}", rb"sk-[a-z0-9\-_]{16}", rb"k_(?:live|test)_"),
            *(rb"(?:mysql|mariadb)[^\"]{0,300} -p", rb"curl[^\"]{0,300} -(?:u|-user)"),
        ),
    )
)
_KEY_HINT: Final = re.compile(
    b"key(?:%b)"
    % b"|".join(
        rb"(?<=%bkey)|(?<=%b[_\-. ]key)" % (word, word)
        for word in (b"api", b"access", b"private", b"account", b"secret", b"encryption", b"signing", b"master")
    )
)
"""Looks back from ``key``, since an expression that begins with a literal is found much faster."""
_URI_HINT: Final = re.compile(rb"://[^/?#@:\"\s]{0,300}:")


def redact(body: bytes) -> bytes:
    """The event without credentials; the very bytes if it has none.

    Changed are only the values, to ``***``: names of keys stay, whatever they are called. ``body`` must be the JSON
    text of an event.
    """
    if not _may_have_credentials(body.lower()):
        return body
    tree = _decode(body)
    masked = mask_tree(tree)
    return body if masked == tree else _encode(masked)


def _may_have_credentials(lower: bytes) -> bool:
    """Searching for single words is ten times as fast as one expression of all of them."""
    if any(hint in lower for hint in _HINTS) or any(hint.search(lower) for hint in _MORE_HINTS):
        return True
    if _KEY_HINT.search(lower) is not None:
        return True
    return b"@" in lower and _URI_HINT.search(lower) is not None


def _decode(body: bytes) -> Any:
    try:
        return decode(body)
    except ValueError:  # a lone surrogate, which only the exact bytes of an event have
        return json.loads(body)


def _encode(tree: Any) -> bytes:
    try:
        return orjson.dumps(tree)
    except TypeError:  # a lone surrogate, or an integer beyond 64 bits
        return json.dumps(tree, separators=(",", ":")).encode()
