"""Masks credentials in an event: passwords in URIs and connection strings, values of keys that name secrets."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any, Final

import orjson

from .parse import decode

MASK: Final = "***"

_HINTS: Final = (
    b"pwd",
    b"secret",
    b"token",
    b"credential",
    b"authori",
    b"bearer ",
    b"identified",
    b"signature",
    b"sig=",
)
"""What an event with credentials cannot be without, but for the next; escapes could hide any of it."""
_MORE_HINTS: Final = (re.compile(rb"pass(?:w|phrase|code)"), re.compile(rb"\\[u/]"))
_KEY_HINT: Final = re.compile(
    b"key(?:%b)"
    % b"|".join(
        rb"(?<=%bkey)|(?<=%b[_\-. ]key)" % (word, word)
        for word in (b"api", b"access", b"private", b"account", b"secret", b"encryption", b"signing")
    )
)
"""Looks back from ``key``, since an expression that begins with a literal is found much faster."""
_URI_HINT: Final = re.compile(rb"://[^/?#\"\s]{0,500}@")
_URI: Final = re.compile(r"(?P<start>[A-Za-z][A-Za-z0-9+.\-]*://[^\s:/?#@\"']*):(?P<secret>[^\s/?#\"']*)@")
_KEY: Final = (
    r"[\w.\-]*(?:password|passwd|passphrase|pwd|secret|token|credentials?|signature"
    r"|(?:api|access|private|account|secret)[_.\- ]?key)"
)
_ASSIGNED: Final = re.compile(
    rf"(?i)(?P<key>(?<![\w.\-]){_KEY}|[?&;]sig)(?P<to>\s*=\s*)(?P<value>'[^']*'|[^\s&;,'\"]+)"
)
_SQL: Final = re.compile(r"(?i)(?P<start>\b(?:password|identified\s+by)\s+)'(?:[^']|'')*'")
_HEADER: Final = re.compile(
    r"(?i)(?P<start>\bauthori[sz]ation[\"']?\s*[:=]\s*[\"']?(?:(?:basic|bearer|token|negotiate)\s+)?|\bbearer\s+(?=\S{20}))"
    r"[A-Za-z0-9._~+/\-]{6,}=*"
)
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SECRET_WORDS: Final = frozenset(
    (
        *("password", "passwd", "passphrase", "passcode", "pwd", "secret", "token", "credential", "credentials"),
        *("authorization", "apikey", "accesskey", "privatekey", "accountkey"),
    )
)
_SECRET_KEYS: Final = frozenset(("api", "access", "private", "account", "secret", "encryption", "signing"))


def redact(body: bytes) -> bytes:
    """The event without credentials; the very bytes if it has none.

    Changed are only the values, to ``***``: names of columns and datasets stay, whatever they are called. ``body`` must
    be the JSON text of an event.
    """
    if not _may_have_credentials(body.lower()):
        return body
    tree = _decode(body)
    masked = _mask(tree)
    return body if masked == tree else _encode(masked)


def _may_have_credentials(lower: bytes) -> bool:
    """Searching for single words is ten times as fast as one expression of all of them."""
    if any(hint in lower for hint in _HINTS) or any(hint.search(lower) for hint in _MORE_HINTS):
        return True
    if _KEY_HINT.search(lower) is not None:
        return True
    return b"@" in lower and _URI_HINT.search(lower) is not None


def mask_text(text: str) -> str:
    """A text without the passwords in URIs, connection strings, headers and SQL statements."""
    if "@" in text and "://" in text:
        text = _URI.sub(rf"\g<start>:{MASK}@", text)
    if "=" in text:
        text = _ASSIGNED.sub(rf"\g<key>\g<to>{MASK}", text)
    if "'" in text:
        text = _SQL.sub(rf"\g<start>'{MASK}'", text)
    return _HEADER.sub(rf"\g<start>{MASK}", text)


def names_a_secret(name: str) -> bool:
    """Whether a key or a variable of this name holds a secret: one of its words, or two of them, say so."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not _SECRET_WORDS.isdisjoint(words):
        return True
    return any(first in _SECRET_KEYS and second == "key" for first, second in pairwise(words))


def _mask(value: Any, name: str = "") -> Any:
    if type(value) is str:
        if name and value and names_a_secret(name):
            return MASK
        return mask_text(value)
    if type(value) is dict:
        named = _secret_of_pair(value)
        return {key: MASK if key == named else _mask(member, key) for key, member in value.items()}
    if type(value) is list:
        return [_mask(member, name) for member in value]
    return value


def _secret_of_pair(members: dict[str, Any]) -> str | None:
    """``value`` in ``{"name": "DB_PASSWORD", "value": "…"}``: environment variables, properties, tags."""
    if type(members.get("value")) is not str or not members["value"]:
        return None
    name = members.get("name", members.get("key"))
    return "value" if type(name) is str and names_a_secret(name) else None


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
