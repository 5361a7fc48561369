"""The expression reader: fields, functions, operators, constants; never a traceback, never a hang."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lineagelog.export.snaplogic import read_expression
from lineagelog.export.snaplogic.expression import UNKNOWN, evaluate
from lineagelog.export.snaplogic.paths import parse_path

READS = [
    ("$a", ["a"], "Mapping"),
    ("$.a.b", ["a.b"], "Mapping"),
    ("(( $a ))", ["a"], "Mapping"),
    ("$['odd name']", ["odd name"], "Mapping"),
    ("$a['b c'].d[0].e", ["a.b c.d.e"], "Mapping"),
    ("$a?.b", ["a.b"], "Mapping"),
    ("$", [""], "Mapping"),
    ("$a.trim()", ["a"], "trim"),
    ("$a.b.trim().toUpperCase()", ["a.b"], "trim, toUpperCase"),
    ("Date.parse($at)", ["at"], "Date.parse"),
    ("lib.tax.rate($country, _mode)", ["country"], "lib.tax.rate"),
    ("$net + $tax", ["net", "tax"], "+"),
    ("$a ? $b : $c", ["a", "b", "c"], "?:"),
    ("$a.length", ["a"], "length"),
    ("$length", ["length"], "Mapping"),
    ('jsonPath($, "$.x[*].y")', ["x.y"], "jsonPath"),
    ('jsonPath($a, "$.b")', ["a.b"], "jsonPath"),
    ("$.get('a b')", ["a b"], "get"),
    ("$a.hasOwnProperty('b') && !$c", ["a.b", "c"], "hasOwnProperty"),
    ("$rows.map(row => row.qty * $rate)", ["rows", "rate"], "map"),
    ("$rows.reduce((sum, row) => sum + row.qty, 0)", ["rows"], "reduce"),
    ("`${$first} $no ${$last.trim()}`", ["first", "last"], "trim"),
    ("match $kind { 'a' => $x, _ => null }", ["kind", "x"], "match"),
    ("{id: $id, tags: [$tag]}", ["id", "tag"], "object array"),
    ("$a.replace(/\\$b[/]/g, '$c')", ["a"], "replace"),
    ("$a / $b / 2", ["a", "b"], "/"),
    ("$a instanceof Array ? $a : [$a]", ["a"], "?: instanceof array"),
    ("typeof $a == 'string'", ["a"], "== typeof"),
    ("$a // $b", ["a"], "Mapping"),
    ("$rows[$at].name", ["rows.name", "at"], "expression"),
    ("$über + $Ключ", ["über", "Ключ"], "+"),
    ("'$a'", [], ""),
    ('"costs $5 " + _currency', [], ""),
    ("pipe.ruuid", [], ""),
    ("null", [], ""),
]


@pytest.mark.parametrize(("text", "fields", "description"), READS, ids=[row[0] for row in READS])
def test_what_an_expression_reads_and_does(text: str, fields: list[str], description: str) -> None:
    """Fields in source order, each once; functions before operators in the description."""
    found = read_expression(text)
    assert [".".join(path) for path in found.reads] == fields
    assert found.description == description
    assert not found.problem


@pytest.mark.parametrize("text", ["$a +", "$a $b", "foo($a", "'open", "$a = > 2", "match $a { 1 => $b", "$a.", "#$a"])
def test_what_is_no_expression_is_read_word_by_word(text: str) -> None:
    """The problem is told, the fields are still found (up to the place that is no token at all)."""
    found = read_expression(text)
    assert found.problem
    assert (("a",) in found.reads) == ("$a" in text and not text.startswith("#"))


@pytest.mark.long
@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000 + "$a",
        "[" * 5000,
        "!" * 5000 + "$a",
        "+".join(["$a"] * 20_000),
        "$a" + ".b()" * 20_000,
        "$a" + "[$b" * 3000,
    ],
    ids=["brackets", "arrays", "signs", "sum", "chain", "indices"],
)
def test_depth_and_length_do_not_overflow(text: str) -> None:
    """Deep nesting is refused with a problem, long sums and chains are read."""
    found = read_expression(text)
    assert found.problem or found.reads == (("a",),)
    evaluate(text, {})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("_a", "x"),
        ('"p_" + _a + ".t"', "p_x.t"),
        ("_a == 'x' ? 'yes' : 'no'", "yes"),
        ("_a.toUpperCase()", "X"),
        ("1 + 2", "3"),
        ("_b || 'none'", "none"),
        ("'SELECT * FROM ' + $t", f"SELECT * FROM {UNKNOWN}"),
        ("$t", None),
        ("_missing", None),
        ('"s"."t"', None),
        ("`s.${_a}_${_b}!`", "s.x_!"),
        ("`s.${$c}`", f"s.{UNKNOWN}"),
        ("'%s.%s'.sprintf('s', _a)", "s.x"),
        ("'%05d'.sprintf(_a)", None),
        ("_a.concat('.', _a)", "x.x"),
        ("_a.replace('x', 'y')", None),
    ],
)
def test_constants_are_evaluated_from_parameters(text: str, value: str | None) -> None:
    """What only documents could tell stays unknown."""
    assert evaluate(text, {"a": "x", "b": ""}) == value


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("$a.b", ("a", "b")),
        ("a", ("a",)),
        ("$", ()),
        ("$['a b']", ("a b",)),
        ('$a["b"].c', ("a", "b", "c")),
        ("$rows[*].x", ("rows", "x")),
        ("$list[(value.length)]", ("list",)),
        ("Order Date", ("Order Date",)),
        ("", ()),
    ],
)
def test_target_paths(text: str, path: tuple[str, ...]) -> None:
    """With or without `$`; array steps make no name of their own."""
    assert parse_path(text) == path


_WORDS = st.sampled_from(
    [
        "$a",
        "$",
        "_p",
        ".b",
        "['c']",
        "[0]",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "+",
        "-",
        "?",
        ":",
        "=>",
        ",",
        "'t'",
        '"',
        "`",
        "${",
        "match",
        "x",
        "/",
        ".trim()",
        "jsonPath(",
        "1",
        "...",
        "\\",
        "=",
        ";",
        "\n",
        " ",
        "é",
        "\x00",
    ]
)


@given(st.text(max_size=200) | st.lists(_WORDS, max_size=40).map("".join))
@example("`${`${`")
@example("$a[" * 60 + "]" * 60)
@example("0x")
def test_any_text_is_read_and_evaluated(text: str) -> None:
    """Never an exception; the same text gives the same facts; a direct reference reads one field."""
    found = read_expression(text)
    assert found == read_expression(text)
    assert not found.direct or len(found.reads) == 1
    value = evaluate(text, {"p": "q"})
    assert value is None or isinstance(value, str)
    parse_path(text)


@given(st.lists(st.sampled_from(["a", "b c", "d.e", "ü", "x_1"]), min_size=1, max_size=5))
def test_a_path_in_brackets_comes_back(names: list[str]) -> None:
    """Whatever the names are, quoted steps give them back, as a path and as an expression."""
    text = "$" + "".join(f"['{name}']" for name in names)
    assert parse_path(text) == tuple(names)
    assert read_expression(text).reads == (tuple(names),)
