"""A JSON document of SnapLogic's with the place of every value, so that an error can name it.

SnapLogic wraps values as `{"value": X}` or `{"value": X, "expression": true}`; tables are `{"value": [row,
...]}`, and empty is null, "", {} or absent (shapes: public pipeline exports and SnapLogic's public API).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import orjson

from lineagelog.errors import InputError

EMPTY: tuple[Any, ...] = (None, "", {}, [])


@dataclass(frozen=True, slots=True)
class ExportNote:
    """Something that a person should know about an export that went on: `file`, `place` in it, one
    sentence."""

    file: str
    place: str
    message: str
    severity: Literal["warning", "note"] = "warning"

    def __str__(self) -> str:
        return f"{self.severity}: {self.file}: {self.place}: {self.message}"


@dataclass(frozen=True, slots=True)
class Setting:
    """A wrapped value: its text, and whether the text is an expression."""

    text: str
    expression: bool = False


@dataclass(frozen=True, slots=True)
class Node:
    """A JSON value, the file it came from and its place there (dotted, `$` for the whole document)."""

    file: str
    place: str
    value: Any

    def error(self, message: str) -> InputError:
        """The error that names file and place."""
        return InputError(f"{self.file}: {self.place}: {message}")

    @property
    def empty(self) -> bool:
        """Whether nothing is here: null, "", {}, [] or absent."""
        return self.value in EMPTY

    def has(self, key: str) -> bool:
        """Whether this is an object with the key `key`, whatever its value."""
        return isinstance(self.value, dict) and key in self.value

    def get(self, key: str) -> Node:
        """The member `key`, an empty node when it is absent; InputError when this is no object."""
        place = key if self.place == "$" else f"{self.place}.{key}"
        return Node(self.file, place, self._object().get(key))

    def at(self, *keys: str) -> Node:
        """The member reached through several keys."""
        node = self
        for key in keys:
            node = node.get(key)
        return node

    def items(self) -> list[tuple[str, Node]]:
        """The members of this object, in file order; none when it is empty."""
        return [(key, self.get(key)) for key in self._object()]

    def rows(self) -> list[Node]:
        """The elements of this list; none when it is empty; InputError when it is something else."""
        if self.empty:
            return []
        if not isinstance(self.value, list):
            raise self.error(f"expected a list, found {_kind(self.value)}; export the file again")
        return [Node(self.file, f"{self.place}[{at}]", value) for at, value in enumerate(self.value)]

    def text(self) -> str:
        """A text, number or boolean as text; "" when empty; InputError for lists and objects."""
        if self.empty:
            return ""
        if isinstance(self.value, bool):
            return str(self.value).lower()
        if isinstance(self.value, (str, int, float)):
            return str(self.value)
        raise self.error(f"expected a text, found {_kind(self.value)}; export the file again")

    def flag(self, default: bool = False) -> bool:
        """A boolean, also spelled as text ("true"); `default` when empty."""
        return default if self.empty else self.text().strip().lower() == "true"

    def number(self) -> int | None:
        """A whole number that is not negative, or None."""
        value = self.value
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None

    def unwrap(self) -> Node:
        """What `{"value": X}` holds; a bare value is taken as it is."""
        return self.get("value") if isinstance(self.value, dict) else self

    def setting(self) -> Setting:
        """A wrapped text with its expression mark."""
        marked = self.has("expression") and self.get("expression").value is True
        return Setting(self.unwrap().text(), marked)

    def table(self) -> list[Node]:
        """The rows of a wrapped table."""
        return self.unwrap().rows()

    def _object(self) -> dict[str, Any]:
        if isinstance(self.value, dict):
            return self.value
        if self.empty:
            return {}
        raise self.error(f"expected an object, found {_kind(self.value)}; export the file again")


def read_json(data: bytes, file: str) -> Node:
    """The JSON document in `data` (UTF-8, a byte order mark is allowed); InputError names the byte or the
    line and column."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: byte {error.start}: not UTF-8; save the file as UTF-8 JSON") from None
    try:
        return Node(file, "$", orjson.loads(data))
    except orjson.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"{file}: {where}: not JSON ({error.msg.split(': line')[0]}); export the file again") from None


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a boolean"}
    return names.get(type(value), "null" if value is None else "a number")
