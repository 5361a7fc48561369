"""Column types across systems: one word for the spellings of a type, and whether a change of type loses anything."""

from __future__ import annotations

import re
from typing import Final

_TYPE: Final = re.compile(r"\s*([a-z_][a-z0-9_ ]*?)\s*(?:\(([^()]*)\))?\s*((?:with(?:out)? time zone)?)\s*")
_SYNONYMS: Final = {
    synonym: name
    for name, synonyms in {
        "string": "string text varchar char character nvarchar nchar varchar2 nvarchar2 clob bpchar str utf8 "
        "large_string character_varying longtext mediumtext tinytext",
        "int8": "tinyint byte",
        "int16": "smallint short int2 smallserial",
        "int32": "int integer int4 serial mediumint",
        "int64": "bigint long int8 bigserial longtype",
        "float32": "real float4 float32 floattype",
        "float64": "double double_precision float8 float64 float binary_double",
        "decimal": "decimal numeric number dec",
        "boolean": "boolean bool bit",
        "date": "date date32",
        "timestamp": "timestamp datetime timestamp_ntz datetime2 timestamp_without_time_zone",
        "timestamptz": "timestamptz timestamp_tz timestamp_ltz timestamp_with_time_zone datetimeoffset",
        "binary": "binary varbinary bytea blob bytes raw",
    }.items()
    for synonym in synonyms.split()
}
_WIDER: Final = {
    "int8": {"int16", "int32", "int64", "float32", "float64", "decimal"},
    "int16": {"int32", "int64", "float32", "float64", "decimal"},
    "int32": {"int64", "float64", "decimal"},
    "int64": {"decimal"},
    "float32": {"float64"},
    "date": {"timestamp", "timestamptz"},
}

_MAX_DIGITS: Final = 18
"""Of a size; more are no size, and Python refuses to read thousands."""


def normal_type(text: str) -> tuple[str, tuple[int, ...]]:
    """The type's own word and its numbers: ``VARCHAR(20)`` and ``character varying(20)`` are ('string', (20,)).

    Words that are not known stay as they are, in lower case and without white space.
    """
    lowered = " ".join(text.lower().split())
    match = _TYPE.fullmatch(lowered)
    if match is None:
        return lowered.replace(" ", ""), ()
    word = "_".join(f"{match[1]} {match[3]}".split())
    numbers = [number.strip() for number in (match[2] or "").split(",") if number.strip()]
    if not all(number.isdecimal() and len(number) <= _MAX_DIGITS for number in numbers):
        return lowered.replace(" ", ""), ()
    name = _SYNONYMS.get(word, word)
    is_sized = name in ("string", "decimal", "binary")
    return name, tuple(map(int, numbers)) if is_sized else ()


def keeps_values(before: str, after: str) -> bool:
    """Whether every value of the one type has its place in the other."""
    (old, old_numbers), (new, new_numbers) = normal_type(before), normal_type(after)
    if old != new:
        return new in _WIDER.get(old, ())
    if not new_numbers:
        return True
    if old == "decimal" and old_numbers:
        (old_precision, old_scale), (precision, scale) = (_decimal(numbers) for numbers in (old_numbers, new_numbers))
        return scale >= old_scale and precision - scale >= old_precision - old_scale
    return bool(old_numbers) and all(a <= b for a, b in zip(old_numbers, new_numbers, strict=False))


def _decimal(numbers: tuple[int, ...]) -> tuple[int, int]:
    return numbers[0], numbers[1] if len(numbers) > 1 else 0
