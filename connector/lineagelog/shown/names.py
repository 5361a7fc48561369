"""Which names say that their value is a secret."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SECRET_WORDS: Final = frozenset(
    (
        *("password", "passwd", "passphrase", "passcode", "pwd", "secret", "token", "credential", "credentials"),
        *("authorization", "authorisation", "apikey", "accesskey", "privatekey", "accountkey", "secretkey"),
    )
)
_SECRET_ENDS: Final = ("password", "passwd", "passphrase", "passcode", "secret", "apikey", "accesstoken", "authtoken")
"""Of words that nothing divides, such as PGPASSWORD."""
_SECRET_KEYS: Final = frozenset(("api", "access", "private", "account", "secret", "encryption", "signing", "master"))
_ABOUT: Final = frozenset(
    (
        *("file", "files", "path", "location", "url", "uri", "endpoint", "type", "env", "provider", "providers"),
        *("class", "count", "length", "size", "limit", "policy", "ttl", "expiry", "expires", "expiration", "lifetime"),
        *("seconds", "timeout", "algorithm", "enabled", "required", "at", "mechanism", "format", "version"),
    )
)
"""Last words of names that tell of a secret and are none: token_type, credentials.provider, password_file."""


def names_a_secret(name: str) -> bool:
    """Whether a key or a variable of this name holds a secret: one of its words, or two of them, say so."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or words[-1] in _ABOUT:
        return False
    if words[-1] == "auth" or words[-2:] == ["jaas", "config"] or not _SECRET_WORDS.isdisjoint(words):
        return True
    if any(word.endswith(_SECRET_ENDS) for word in words):
        return True
    return any(first in _SECRET_KEYS and second == "key" for first, second in pairwise(words))
