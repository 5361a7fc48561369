"""Credentials in nested values: facets of events, settings, argument lists."""

from __future__ import annotations

import re
from typing import Any, Final

from .names import names_a_secret
from .secrets import MASK, is_secret_option, mask_text

_VALUES: Final = frozenset(("value", "values", "val", "data", "content", "raw", "plain", "plaintext", "text", "key"))
"""Under a name such as ``credential``, the members that hold the secret; others, as ``type`` or ``field``, do not."""
_NUMBERS: Final = re.compile(r"pass(?:w|code|phrase)|pwd|secret", re.IGNORECASE)
"""Names under which even a number is a secret. ``token`` is none: it is a count as often."""
_FOLDERS: Final = frozenset(("PWD", "OLDPWD"))
_NO_SECRETS: Final = frozenset(("", "true", "false", "none", "null"))


def mask_tree(value: Any, name: str = "") -> Any:
    """The value with credentials as ``***``; ``name`` is the key that it stands under. Only values change, no keys."""
    return _mask(value, name, is_secret=bool(name) and names_a_secret(name))


def _mask(value: Any, name: str, *, is_secret: bool) -> Any:
    if isinstance(value, str):
        if is_secret and value.lower() not in _NO_SECRETS and not (name in _FOLDERS and value.startswith("/")):
            return MASK
        return mask_text(value)
    if isinstance(value, dict):
        return _mask_members(value, is_secret=is_secret)
    if isinstance(value, (list, tuple)):
        return [
            MASK if is_hidden and isinstance(member, str) and member else _mask(member, name, is_secret=is_secret)
            for member, is_hidden in zip(value, _after_options(value), strict=True)
        ]
    if type(value) in (int, float) and is_secret and _NUMBERS.search(name):
        return MASK
    return value


def _mask_members(members: dict[str, Any], *, is_secret: bool) -> dict[str, Any]:
    """Also ``value`` in ``{"name": "DB_PASSWORD", "value": "…"}``: environment variables, properties, tags."""
    told = next((told for key in ("name", "key", "property") if isinstance(told := members.get(key), str)), None)
    is_named = told is not None and names_a_secret(told)
    masked = {}
    for key, member in members.items():
        inner = str(key)
        if is_named and inner == "value":
            masked[key] = _mask(member, told or "", is_secret=True)
        else:
            held = is_secret and inner.lower() in _VALUES
            masked[key] = _mask(member, inner, is_secret=held or names_a_secret(inner))
    return masked


def _after_options(values: list[Any] | tuple[Any, ...]) -> list[bool]:
    """For each member of a list whether it is what ``--password`` before it wants."""
    return [
        place > 0 and isinstance(values[place - 1], str) and is_secret_option(values[place - 1])
        for place in range(len(values))
    ]
