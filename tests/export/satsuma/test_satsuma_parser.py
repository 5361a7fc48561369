"""The parser: what it reads out of each construct of the language, and how it says what is wrong."""

from __future__ import annotations

import pytest

from lineagelog.export.satsuma import SatsumaError, parse
from lineagelog.export.satsuma.parser import parse_bytes
from lineagelog.export.satsuma.tree import Arrow, Field, Meta, SchemaBlock, Spread


def schema(body: str, head: str = "schema s") -> SchemaBlock:
    """The only schema of a text."""
    (found,) = parse(f"{head} {{\n{body}\n}}", "s.stm").schemas
    return found


def fields(body: str) -> list[Field]:
    """The fields of a schema's body."""
    return [item for item in schema(body).items if isinstance(item, Field)]


def arrows(body: str) -> tuple[Arrow, ...]:
    """The arrows of a mapping's body."""
    (mapping,) = parse(f"mapping m {{ source {{ a }} target {{ b }}\n{body}\n}}", "m.stm").mappings
    return mapping.arrows


def paths(arrow: Arrow) -> list[tuple[str, ...]]:
    """The source paths and the target path of an arrow."""
    return [*(path.names for path in arrow.sources), arrow.target.names]


@pytest.mark.parametrize(
    ("line", "name", "kind"),
    [
        ("a INT", "a", "INT"),
        ("a DECIMAL(12,2) (pk)", "a", "DECIMAL(12,2)"),
        ("a VARCHAR(MAX)", "a", "VARCHAR(MAX)"),
        ("a ISO-4217 (required)", "a", "ISO-4217"),
        ("`Order Id` STRING", "Order Id", "STRING"),
        ("a (deprecated)", "a", ""),
        ("source STRING", "source", "STRING"),
        ("a UUID(pk)", "a", "UUID(pk)"),
    ],
)
def test_a_scalar_field_has_its_name_and_type(line: str, name: str, kind: str) -> None:
    """Type arguments are attached to the type; parentheses behind a space are metadata."""
    (field,) = fields(line)
    assert (field.name, field.type, field.is_list, field.children) == (name, kind, False, None)


def test_records_and_lists_nest() -> None:
    """`record`, `list_of record` and `list_of TYPE` give trees, with metadata before the brace."""
    order, tags = fields('o record (note "n") { lines list_of record { sku STRING } }\n t list_of DECIMAL(3,1) (pii)')
    (lines,) = order.children or ()
    assert isinstance(lines, Field)
    assert (order.type, order.is_list, order.metadata[0].value) == ("record", False, "n")
    assert (lines.type, lines.is_list, len(lines.children or ())) == ("record", True, 1)
    assert (tags.type, tags.is_list, tags.metadata) == ("DECIMAL(3,1)", True, (Meta("tag", "pii"),))


def test_a_multi_word_spread_ends_with_its_line() -> None:
    """`...audit fields` is one spread and the word on the next line a field."""
    items = schema("...audit fields\nextra INT\n...`odd name`\n...ns::scoped").items
    assert [item.name for item in items] == ["audit fields", "extra", "odd name", "ns::scoped"]
    assert [type(item) for item in items] == [Spread, Field, Spread, Spread]


def test_metadata_entries_keep_their_values() -> None:
    """Tags, values of several words, lists, enums, slices and notes, over lines and with a comma behind."""
    (found,) = parse(
        'schema s (pk, owner "data team", encrypt AES-256-GCM, compliance {GDPR, SOX}, ref @d.f,\n'
        ' default 0, filter a == "x", refresh schedule "Monday", format DD/MM/YYYY,\n'
        ' enum {a, "b c", 3}, slice {x, y}, note """\n  text\n  """,) { }',
        "s.stm",
    ).schemas
    assert found.metadata == (
        Meta("tag", "pk"),
        Meta("kv", "owner", "data team"),
        Meta("kv", "encrypt", "AES-256-GCM"),
        Meta("kv", "compliance", "{GDPR, SOX}"),
        Meta("kv", "ref", "@d.f"),
        Meta("kv", "default", "0"),
        Meta("kv", "filter", 'a == "x"'),
        Meta("kv", "refresh", 'schedule "Monday"'),
        Meta("kv", "format", "DD/MM/YYYY"),
        Meta("enum", "enum", values=("a", "b c", "3")),
        Meta("slice", "slice", values=("x", "y")),
        Meta("note", "note", "text"),
    )


def test_arrows_of_every_form() -> None:
    """Plain, multi-source, computed, relative, qualified and backticked arrows, with or without spaces."""
    found = arrows(
        "a->b\n x, y -> z { trim | round(2) }\n -> now { now_utc }\n.p -> .q\n crm::orders.id -> `Order Id`.`x.y`"
    )
    assert [arrow.kind for arrow in found] == ["map", "map", "computed", "map", "map"]
    assert [paths(arrow) for arrow in found] == [
        [("a",), ("b",)],
        [("x",), ("y",), ("z",)],
        [("now",)],
        [("p",), ("q",)],
        [("orders", "id"), ("Order Id", "x.y")],
    ]
    assert [arrow.body for arrow in found] == [None, "trim | round(2)", "now_utc", None, None]
    assert found[4].sources[0].namespace == "crm"
    assert [arrow.line for arrow in found] == [2, 3, 4, 5, 6]


def test_braces_of_a_single_source_arrow_hold_arrows_or_pipe_text() -> None:
    """An arrow inside makes braces a nesting scope; without one they are a transform."""
    nested, piped, empty = arrows('a -> b { .x -> .y }\n c -> d { "x -> y" | trim }\n e -> f { }')
    assert (nested.kind, [paths(child) for child in nested.children]) == ("nested", [[("x",), ("y",)]])
    assert (piped.kind, piped.body) == ("map", '"x -> y" | trim')
    assert (empty.kind, empty.body, empty.children) == ("map", None, ())


def test_each_and_flatten_nest_and_may_be_field_names() -> None:
    """`each` and `flatten` open blocks; the name of a field that is one of them stands in backticks."""
    block, plain = arrows('each a.b -> .c (note "n") { .x -> .y flatten .d -> e { .z -> z } }\n `each` -> flatten')
    assert (block.kind, [child.kind for child in block.children]) == ("each", ["map", "flatten"])
    assert (plain.kind, paths(plain)) == ("map", [("each",), ("flatten",)])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("schema s { note INT }", r"1:12: 'note' begins a note block here; .* in backticks: `note`"),
        ("mapping m { source -> y }", "1:13: 'source' begins a source block here"),
        ("mapping m { source.k -> y }", "1:13: 'source' begins a source block here"),
        ("mapping m { target -> y }", "1:13: 'target' begins a target block here"),
        ("mapping m { note -> y }", "1:13: 'note' begins a note block here"),
        ("mapping m { each -> y }", "1:13: 'each' begins a each block here"),
        ("mapping m { k -> y { map | trim } }", r"expected '\{' with the entries of the value map"),
        ("mapping m { source { a } target { b, c } }", "a further one stands in a target block of its own"),
        ('mapping m { note { """a""" "b" } }', "expected a text in quotes or '}'"),
        ("schema s { k INT (enum) }", r"expected '\{' with the values of 'enum'"),
    ],
)
def test_what_the_reference_grammar_refuses_is_refused(text: str, told: str) -> None:
    """A word that opens a block is no name there, and so on: both engines read the same language."""
    with pytest.raises(SatsumaError, match=told):
        parse(text, "f.stm")


def test_words_that_open_blocks_are_names_elsewhere() -> None:
    """In backticks, behind the arrow, inside of `each`, and as the name of a schema."""
    file = parse(
        "schema source { `note` INT record INT }\n"
        "mapping m { source { source } target { b } target { c } `source` -> target each k -> l { source -> note } }",
        "f.stm",
    )
    assert [field.name for field in file.schemas[0].items if isinstance(field, Field)] == ["note", "record"]
    assert [reference.name for reference in file.mappings[0].targets] == ["b", "c"]
    assert [arrow.kind for arrow in file.mappings[0].arrows] == ["map", "each"]


def test_a_mapping_may_lack_a_name_and_a_body() -> None:
    """`mapping { }` is legal, and so are join texts and commas left out in `source`."""
    file = parse('mapping { }\nmapping `x y` (merge append) { source { a b, `c d` "join on @a.id" ns::e } }', "m.stm")
    assert [mapping.name for mapping in file.mappings] == [None, "x y"]
    assert [reference.name for reference in file.mappings[1].sources] == ["a", "b", "c d", "ns::e"]


def test_namespaces_qualify_what_is_inside() -> None:
    """Definitions in a namespace have keys with it; a namespace may be opened again."""
    file = parse('namespace a (note "n") { schema s { } }\nnamespace a { mapping m { } fragment f { } }', "n.stm")
    assert [file.schemas[0].key, file.mappings[0].key, file.fragments[0].key] == ["a::s", "a::m", "a::f"]


def test_imports_and_notes_and_transforms() -> None:
    """The remaining blocks of a file."""
    file = parse(
        'import { a, ns::b, `c d`, } from "x/y.stm"\nnote { "one" "two" }\ntransform t { ...u v | map { a: "b" } }',
        "f.stm",
    )
    assert (file.imports[0].names, file.imports[0].path) == (("a", "ns::b", "c d"), "x/y.stm")
    assert file.notes == ("one", "two")
    assert file.transforms[0].body == '...u v | map { a: "b" }'


def test_comments_know_their_block_and_strings_hold_none() -> None:
    """`//!` and `//?` are told with their block; `//` and what stands in a string are not told."""
    file = parse(
        "//! outside\nnamespace n { schema s { a INT //! bad data\n // plain\n} }\n"
        'mapping { //? open\n -> x { "//! no comment" } }',
        "c.stm",
    )
    assert [(c.kind, c.text, c.line, c.block, c.block_type) for c in file.comments] == [
        ("warning", "outside", 1, None, None),
        ("warning", "bad data", 2, "n::s", "schema"),
        ("question", "open", 5, "", "mapping"),
    ]


@pytest.mark.parametrize("ends", ["\r\n", "\r", "\n"])
def test_line_ends_and_byte_order_mark_change_nothing(ends: str) -> None:
    """Any line end and a byte order mark give the same tree."""
    text = "schema s {\n a INT\n ...f g\n b INT\n}\n"
    assert parse_bytes(("\ufeff" + text.replace("\n", ends)).encode(), "s.stm") == parse(text, "s.stm")


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("schema s {\n  a INT\n", 1, 10, "this '{' is never closed"),
        ("schema s {\n  a\n}", 3, 1, "a type, 'record', 'list_of' or '('"),
        ("schema s {\n  a b c\n}", 3, 1, "on the line of field 'c'"),
        ("schema {", 1, 8, "the schema's name, found '{'"),
        ('schema s (pk note "x") { }', 1, 14, "',' or ')' in the metadata, found 'note'"),
        ("schema s (,) { }", 1, 11, "a metadata tag"),
        ("schema s (pk\n", 2, 1, "',' or ')' in the metadata, found the end of the file"),
        ("schema s { a DECIMAL (12,2) }", 1, 23, "a metadata tag, found '12'"),
        ("mapping m {\n  a, b -> c { x -> y }\n}", 2, 17, "an arrow cannot stand in a transform"),
        ("mapping m {\n  -> a { b -> c }\n}", 2, 12, "an arrow cannot stand in a transform"),
        ("mapping m {\n  a -> b { trim | }\n}", 2, 19, "a transform step"),
        ("mapping m {\n  a -> b { f(x }\n}", 2, 16, "expected ')'"),
        ("mapping m {\n  a -> b { x { y } }\n}", 2, 14, "only `map { … }` opens braces"),
        ("mapping m {\n  a -> b { map { R: x B: y } }\n}", 2, 24, "',' between two map entries"),
        ("mapping m {\n  a ->\n}", 3, 1, "the target path, found '}' (the '{' of line 1 is still open)"),
        ("mapping m { source { } }", 1, 22, "a schema's name in 'source'"),
        ('import { } from "x"', 1, 10, "a name to import"),
        ('import { a } form "x"', 1, 14, "'from', found 'form'"),
        ('schema s { a INT "text }', 1, 18, "found a quote that is never closed"),
        ("schema s { a VARCHAR(10 }", 1, 21, "type arguments are never closed"),
        ("metric m { }", 1, 1, "a block (import, note"),
        ("note { }", 1, 8, "the note's text"),
        ('namespace n { import { a } from "x" }', 1, 15, "of the namespace, or '}'"),
        ("schema Größe { }", 1, 10, "found 'ö', which stands in quotes or backticks only"),
        ("schema `a\nb` { }", 1, 8, "found a quote that is never closed"),
    ],
)
def test_an_error_names_the_place_and_what_was_expected(text: str, line: int, column: int, message: str) -> None:
    """`file:line:column`, what was expected and found, and the offending line."""
    with pytest.raises(SatsumaError) as caught:
        parse(text, "bad.stm")
    error = caught.value
    assert (error.file, error.line, error.column) == ("bad.stm", line, column)
    assert message in error.message
    assert error.excerpt == text.split("\n")[line - 1]
    assert str(error).startswith(f"bad.stm:{line}:{column}: ")
    assert "\n" not in str(error)


def test_a_file_that_is_not_utf8_names_the_byte() -> None:
    """The place of the first byte that is not UTF-8 is told."""
    with pytest.raises(SatsumaError, match=r"^latin\.stm:2:7: the file is not UTF-8 \(byte 0xfc\)"):
        parse_bytes(b"schema s {\n  // m\xfcde\n}", "latin.stm")


@pytest.mark.parametrize(
    "text",
    [
        "schema s { " + "r record { " * 100,
        "mapping m { " + "each a -> b { " * 100,
        "mapping m { " + "a -> b { " * 100 + ".x -> .y",
    ],
)
def test_absurd_nesting_is_an_error_not_a_crash(text: str) -> None:
    """Records and arrows may be nested 64 deep."""
    with pytest.raises(SatsumaError, match=r"nested more than 64 deep"):
        parse(text, "deep.stm")
