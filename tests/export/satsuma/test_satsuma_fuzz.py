"""Any text is read or refused: never another error than the documented one, never a hang."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineagelog.errors import InputError, SettingsError
from lineagelog.export.satsuma import ExportOptions, OwnEngine, export, parse, validate
from lineagelog.export.satsuma.parser import parse_bytes
from lineagelog.export.satsuma.transforms import read_transform
from tests.support import EXAMPLES

from .support import WHEN

VALID = '''import { a } from "main.stm"
note { """ Top
  note """ }
fragment fg { created TIMESTAMP (required)  //! odd
}
fragment `f g` { created TIMESTAMP }
namespace n (note "x") { schema inner (fact, grain {k}, ref @a.x) { k INT (measure additive) } }
schema a (dimension, scd 2, natural_key x, track {x}, owner "team", compliance {GDPR}) {
  x INT (pk, pii, encrypt AES-256, enum {a, "b c"}, note "The \\"x\\"")
  r record (pii) { s STRING  l list_of record { t DECIMAL(3,2) } }  ...f g
  `odd name` list_of INT
}
schema b (report, source {a, n::inner}, tool looker) { y INT  items list_of record { z INT } }
transform t { trim | ...u v | map { a: "b", < 5: c d } }
mapping `m n` (merge upsert, match_on {x}) {
  note { "One" "two" }
  source { a, `n::inner`, "join on @a.x = @n::inner.k" }
  target { b }
  a.x, n::inner.k -> y (note "why") { "Use @x and @`odd name`" | round(2, x) }
  each r.l -> items { .t -> .z { map { 1: one, _: "other" } } }
  flatten r.l -> b { .t -> y }
  r -> items { .s -> .z }
  -> y { now_utc }  //? why
}
mapping { }
'''
MARKS = "{}()|,.:@`\"'-></*=\\\n\t "
KEYWORDS = (
    '-> ... :: """ //! //? map each flatten record list_of schema mapping source target note import from '
    "enum namespace a b x 7"
)
WORDS = st.sampled_from([*MARKS, *KEYWORDS.split()])


def export_text(text: str) -> None:
    """Read a text, export it, validate the events: the documented errors are fine, events must be valid."""
    try:
        spec = OwnEngine(lambda path: text.encode()).read(["main.stm"])
        made = export(spec, ExportOptions(event_time=WHEN, dataset_namespace="x://y", standalone_consumers=True))
    except (InputError, SettingsError) as error:
        assert "\n" not in str(error)
    else:
        assert validate(made.events) == []


@settings(max_examples=6 * EXAMPLES)
@given(st.lists(WORDS, max_size=60).map("".join))
def test_any_text_of_the_languages_words(text: str) -> None:
    """Texts made of marks and keywords."""
    export_text(text)


@settings(max_examples=2 * EXAMPLES)
@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    """Bytes that are no text, or no spec."""
    try:
        parse_bytes(data, "x.stm")
    except InputError as error:
        assert str(error).startswith("x.stm:")


@settings(max_examples=6 * EXAMPLES)
@given(
    st.integers(0, len(VALID) - 1),
    st.integers(0, 40),
    st.lists(WORDS, max_size=6).map("".join),
    st.booleans(),
)
def test_a_valid_spec_with_a_wound(at: int, length: int, insert: str, twice: bool) -> None:
    """A valid spec from which a piece is cut, or into which one is put."""
    wounded = VALID[:at] + insert + VALID[at + length :]
    export_text(wounded + wounded[at : at + 300] if twice else wounded)


@settings(max_examples=2 * EXAMPLES)
@given(st.text(max_size=100))
def test_any_text_of_a_transform_has_a_description(text: str) -> None:
    """What another engine hands over as a transform is described, whatever it is."""
    assert isinstance(read_transform(text).description, str)


@given(st.integers(0, len(VALID)))
def test_a_spec_that_is_cut_off(at: int) -> None:
    """Every beginning of a valid spec."""
    export_text(VALID[:at])


@pytest.mark.parametrize(
    "text",
    [
        '"' * 100_000,
        "`" + "\\`" * 100_000,
        'schema s { x INT (note "' + '\\"' * 100_000,
        '"""' + '""a' * 100_000,
        "a" + "-" * 100_000,
        "mapping m { a -> b { " + "(" * 50_000,
        "mapping m { a -> b { " + "x | " * 50_000 + "y } }",
        "schema s { " + "x INT\n" * 20_000 + "}",
        "mapping m { " + "a -> b { }\n" * 20_000 + "}",
        "mapping m { a" + ".a" * 50_000 + " -> b }",
        "//!\n" * 50_000,
        "schema s {" * 5_000,
        "{" * 100_000,
    ],
    ids=lambda text: text[:12],
)
def test_long_texts_take_time_in_proportion(text: str) -> None:
    """Texts that would trap a backtracking or quadratic reader are done in seconds of the processor."""
    begin = time.process_time()
    with contextlib.suppress(InputError):
        parse(text, "long.stm")
    assert time.process_time() - begin < 30


def test_the_valid_spec_is_valid() -> None:
    """What the wounds are put into holds every construct, and exports."""
    spec = OwnEngine(lambda path: VALID.encode()).read(["main.stm"])
    made = export(spec, ExportOptions(event_time=WHEN, dataset_namespace="x://y"))
    assert len(made.events) == 3
