"""The canonical form: one text for one value, before and after PostgreSQL's jsonb."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineagelog.event.canonical import (
    AwkwardNumberError,
    UnsettledError,
    canonical,
    content_key,
    fold_any_float,
    fold_float,
    name_key,
    settle,
)
from lineagelog.event.decoding import decode


def spelled(number: str) -> bytes:
    """The canonical bytes of a number as written."""
    return canonical(decode(number.encode()))


@pytest.mark.parametrize(
    "spellings",
    [
        ["1", "1.0", "1e0", "1E0", "10e-1", "0.1e1", "1.000"],
        ["0", "-0", "0.0", "-0.0", "0e0", "0E-18", "1e-400"],
        ["1500", "1.5e3", "15E+2"],
        ["0.5", "5e-1", "0.50"],
        ["9007199254740993", "9007199254740993.0", "9007199254740993000e-3"],
        ["9223372036854775807", "9223372036854775807.0"],
        ["18446744073709551615", "18446744073709551615.0"],
        ["18446744073709551616", "18446744073709551616.0", "1.8446744073709551616e19"],
        ["1e30", "1" + "0" * 30, "1000000000000000000e12"],
        ["-1e30", "-1" + "0" * 30],
        ["1.7e308", "17" + "0" * 307],
        ["-9223372036854775809", "-9223372036854775809.0"],
    ],
)
def test_a_number_goes_by_its_value(spellings: list[str]) -> None:
    """Every spelling of one number has one canonical form."""
    assert len({spelled(number) for number in spellings}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("9007199254740993", "9007199254740992"),
        ("9223372036854775807", "9223372036854775806"),
        ("18446744073709551615", "18446744073709551614"),
        ("1", "1.0000000001"),
        ("1", '"1"'),
        ("1", "true"),
        ("0", "false"),
        ("null", "{}"),
        ("[]", "{}"),
    ],
)
def test_different_values_stay_different(one: str, other: str) -> None:
    """Integers of 64 bits are exact, and types count."""
    assert spelled(one) != spelled(other)


@given(st.one_of(st.integers(-(2**70), 2**70), st.integers(-(10**40), 10**40)), st.integers(0, 5), st.booleans())
def test_an_integer_equals_its_spelling_with_a_fraction_or_an_exponent(value: int, zeros: int, exponent: bool) -> None:
    """12, 12.00 and 1200e-2 are one number at every size."""
    other = f"{value or ''}{'0' * (zeros + (not value))}e-{zeros}" if exponent else f"{value}.{'0' * (zeros + 1)}"
    assert spelled(other) == spelled(str(value))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_equals_its_plain_decimal_notation(value: float) -> None:
    """What jsonb prints for a number, all digits and no exponent, is the same number."""
    plain = format(Decimal(repr(value)), "f")
    assert spelled(plain) == canonical(settle(fold_any_float(repr(value))))


@pytest.mark.parametrize("text", ["1e400", "-1e400", "1e-4000", "0e-99999999999", "1." + "0" * 3100])
def test_an_awkward_number_is_left_to_the_lenient_way(text: str) -> None:
    """Out of range, or possibly with more digits than PostgreSQL's numeric holds."""
    with pytest.raises(AwkwardNumberError):
        fold_float(text)
    assert fold_any_float(text) in (math.inf, -math.inf, 0, 1)


CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
NUMBERS = st.integers(-(2**66), 2**66) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(CHARACTERS, max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(CHARACTERS, max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES, st.booleans(), st.sampled_from([None, 1, "\t"]), st.randoms(use_true_random=False))
def test_the_form_is_blind_to_spelling(value: Any, ascii_only: bool, indent: Any, random: Any) -> None:
    """Key order, white space and escapes change nothing; sorting is by code point; the form reads as itself."""

    def shuffled(value: Any) -> Any:
        if isinstance(value, dict):
            items = [(key, shuffled(member)) for key, member in value.items()]
            random.shuffle(items)
            return dict(items)
        return [shuffled(element) for element in value] if isinstance(value, list) else value

    form = canonical(decode(json.dumps(value).encode()))
    other = json.dumps(shuffled(value), ensure_ascii=ascii_only, indent=indent)
    assert canonical(decode(other.encode())) == form
    assert canonical(decode(form)) == form
    if isinstance(value, dict):
        assert list(json.loads(form)) == sorted(value)


def test_settling_mends_text_everywhere_and_says_where_a_value_is_bad() -> None:
    """NUL and lone surrogates become U+FFFD in keys and values; NaN, infinities and depth are refused by path."""
    assert settle({"a\x00": ["\ud800x", {"b": "\udc00"}]}) == {"a\ufffd": ["\ufffdx", {"b": "\ufffd"}]}
    for bad in (math.nan, math.inf, 10**400):
        with pytest.raises(UnsettledError) as caught:
            settle({"a": [1, {"b": bad}]})
        assert caught.value.path == ".a[1].b"


def test_the_form_reaches_below_the_serializers_own_depth() -> None:
    """orjson stops before 256 levels; the canonical form goes on to 256 and no further."""
    value: Any = 1
    for _ in range(256):
        value = [value]
    assert canonical(value) == b"[" * 256 + b"1" + b"]" * 256
    with pytest.raises(UnsettledError):
        canonical([value])


def test_keys_of_names_keep_parts_apart() -> None:
    """Length prefixes: no two tuples of names share their bytes, and None is no text."""
    tuples = [("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), ("", "abc"), (None, "abc"), ("-", "abc"), ("3:abc",)]
    assert len({name_key(*names) for names in tuples}) == len(tuples)
    assert name_key("é") == sha256("2:é".encode()).digest()[:16]
    assert content_key(b"x") == sha256(b"x").digest()[:16]
