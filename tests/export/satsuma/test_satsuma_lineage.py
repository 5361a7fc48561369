"""Column lineage: which fields an arrow connects, and what is said about how."""

from __future__ import annotations

import pytest

from .support import Exports, run_export

TWO = """
schema orders { id INT  customer record { email STRING  city STRING }
  lines list_of record { sku STRING  qty INT } }
schema people { person_id INT  city STRING  secret STRING }
schema t { a STRING  b STRING  r record { x STRING  y STRING }  items list_of record { code STRING  n INT } }
"""


def made(body: str, sources: str = "orders, people") -> Exports:
    """Export one mapping between the schemas above."""
    return run_export(f"{TWO}\nmapping m {{\n source {{ {sources} }}\n target {{ t }}\n{body}\n}}")


def test_a_plain_arrow_is_a_direct_copy() -> None:
    """Without a body: DIRECT in the documented form, DIRECT and IDENTITY in today's."""
    assert made("id -> a").lineage("m")["a"] == {
        "inputFields": [
            {
                "namespace": "snowflake://acme",
                "name": "orders",
                "field": "id",
                "transformations": [
                    {"type": "DIRECT", "subtype": "IDENTITY", "description": "direct copy", "masking": False}
                ],
            }
        ],
        "transformationDescription": "direct copy",
        "transformationType": "DIRECT",
    }


def test_a_body_makes_the_arrow_indirect_and_a_transformation() -> None:
    """INDIRECT in the documented form, DIRECT and TRANSFORMATION with the text in today's."""
    entry = made("id -> a { trim\n  | uppercase }").lineage("m")["a"]
    assert (entry["transformationType"], entry["transformationDescription"]) == (
        "INDIRECT",
        "trim | uppercase",
    )
    assert entry["inputFields"][0]["transformations"] == [
        {"type": "DIRECT", "subtype": "TRANSFORMATION", "description": "trim | uppercase", "masking": False}
    ]


@pytest.mark.parametrize(
    ("body", "description"),
    [
        ('"Trim.\n   Then join."', "Trim.\nThen join."),
        ('"say \\"hi\\""', 'say "hi"'),
        ('"""\n  Some **Markdown**\n  here\n  """', "Some **Markdown**\nhere"),
        ('map { R: "retail", B: business, "x y": "z" }', "value map: R→retail, B→business, x y→z"),
        (
            'map { < 1000: "low"\n default: "high tier"\n null: 0 }',
            "value map: < 1000→low, default→high tier, null→0",
        ),
        ('map { a: "b" } | max', 'map { a: "b" } | max'),
        ('"Multiply by rate" | round(2)', '"Multiply by rate" | round(2)'),
        ("trim // strips\n | lowercase", "trim | lowercase"),
        ("...clean email", "...clean email"),
        ("true", "true"),
    ],
)
def test_the_description_is_the_text_of_the_transform(body: str, description: str) -> None:
    """One text without its quotes, a value map with arrows, anything else as written without comments."""
    assert made(f"id -> a {{ {body} }}").lineage("m")["a"]["transformationDescription"] == description


def test_all_sources_of_an_arrow_are_inputs() -> None:
    """`a, b -> t` names both, in their order; without a body it is still direct."""
    found = made("id, people.city -> a\n people.city, people.person_id -> b { concat }")
    assert found.sources("m", "a") == ["orders.id", "people.city"]
    assert found.sources("m", "b") == ["people.city", "people.person_id"]
    assert [found.lineage("m")[name]["transformationType"] for name in ("a", "b")] == ["DIRECT", "INDIRECT"]


def test_a_computed_field_has_no_inputs() -> None:
    """`-> t` is INDIRECT with an empty list, with or without a body."""
    found = made("-> a { now_utc }\n -> b").lineage("m")
    assert found["a"] == {
        "inputFields": [],
        "transformationDescription": "now_utc",
        "transformationType": "INDIRECT",
    }
    assert found["b"] == {"inputFields": [], "transformationType": "INDIRECT"}


def test_a_bare_field_belongs_to_the_first_source_that_declares_it() -> None:
    """`person_id` is not a field of the first source; `city` at the top is not the nested one."""
    found = made("person_id -> a\n city -> b")
    assert (found.sources("m", "a"), found.sources("m", "b")) == (["people.person_id"], ["people.city"])
    assert found.problems == []


def test_an_undeclared_field_is_told_and_kept() -> None:
    """It goes to the first source; a target that is not declared is told as well."""
    found = made("nowhere -> a\n id -> neither")
    assert found.sources("m", "a") == ["orders.nowhere"]
    assert found.problems == [
        "main.stm:10:1: source field 'nowhere' is not declared in 'orders', 'people'",
        "main.stm:11:2: target field 'neither' is not declared in 't'",
    ]


def test_paths_reach_into_records_on_both_sides() -> None:
    """Dotted paths, qualified or not, name leaves; an arrow onto a record counts for the record."""
    found = made("customer.email -> r.x\n orders.customer.city -> r.y\n customer -> r")
    assert found.sources("m", "r.x") == ["orders.customer.email"]
    assert found.sources("m", "r.y") == ["orders.customer.city"]
    assert found.sources("m", "r") == ["orders.customer"]


def test_each_and_nested_arrows_give_relative_paths_and_no_entry_of_their_own() -> None:
    """Paths inside are relative, with or without the dot; the containers have no lineage themselves."""
    found = made(
        "each lines -> items { .sku -> .code { trim }\n qty -> n }\ncustomer -> r { .email -> .x\n city -> y }"
    )
    assert {name: found.sources("m", name) for name in found.lineage("m")} == {
        "items.code": ["orders.lines.sku"],
        "items.n": ["orders.lines.qty"],
        "r.x": ["orders.customer.email"],
        "r.y": ["orders.customer.city"],
    }
    assert found.problems == []


def test_flatten_onto_the_target_schema_leads_to_its_own_fields() -> None:
    """`flatten x -> <target schema>` unnests into the schema itself, and gives no phantom field."""
    found = made("flatten lines -> t { .sku -> a\n .qty -> .b }\n flatten orders.lines -> items { .sku -> .code }")
    assert {name: found.sources("m", name) for name in found.lineage("m")} == {
        "a": ["orders.lines.sku"],
        "b": ["orders.lines.qty"],
        "items.code": ["orders.lines.sku"],
    }


def test_a_target_named_like_one_of_its_fields_is_understood_by_what_is_declared() -> None:
    """`each x -> lines` in a target schema `lines` means its field `lines` if the fields inside are there."""
    found = run_export(
        """
        schema s { rows list_of record { v INT } }
        schema lines { id INT  lines list_of record { v INT } }
        mapping m { source { s } target { lines } each rows -> lines { .v -> .v } }
        """
    )
    assert list(found.lineage("m")) == ["lines.v"]


def test_backticked_names_stay_whole() -> None:
    """Spaces, dots and hyphens in backticked names of schemas and fields are no separators."""
    found = run_export(
        """
        schema `raw-orders` { `Order Id` INT  `tax.rate` INT  plain INT }
        schema `out put` { `The Id` INT  rate INT  p INT }
        mapping `odd: names!` {
          source { `raw-orders` }
          target { `out put` }
          `raw-orders`.`Order Id` -> `The Id`
          `tax.rate` -> `out put`.rate { "twice @`tax.rate`" }
          `raw-orders.plain` -> p
        }
        """
    )
    assert {name: found.sources("odd-names", name) for name in found.lineage("odd-names")} == {
        "The Id": ["raw-orders.Order Id"],
        "rate": ["raw-orders.tax.rate"],
        "p": ["raw-orders.plain"],
    }
    assert found.problems == []


def test_references_in_prose_are_inputs() -> None:
    """`@field`, `@schema.field` and bare references join the inputs as INDIRECT, each once."""
    found = made('-> a { "From @person_id, @orders.customer.email and @person_id" }\nid -> b { @id plus @people.city }')
    assert found.sources("m", "a") == ["people.person_id", "orders.customer.email"]
    assert found.lineage("m")["a"]["inputFields"][0]["transformations"] == [
        {"type": "INDIRECT", "description": "(inferred from NL @ref)", "masking": False}
    ]
    assert found.sources("m", "b") == ["orders.id", "people.city"]


def test_references_may_leave_out_the_records_in_front() -> None:
    """`@email` finds the nested field, and `@lines.sku` the path."""
    found = made('-> a { "@email and @lines.sku" }')
    assert found.sources("m", "a") == ["orders.customer.email", "orders.lines.sku"]


def test_references_to_schemas_and_to_the_field_itself_are_no_inputs() -> None:
    """A schema as a whole gives no column; a field does not come from itself."""
    found = made('-> a { "Count of @people rows, else @a" }')
    assert (found.sources("m", "a"), found.problems) == ([], [])


def test_a_sibling_of_the_target_is_an_input() -> None:
    """A column that is made of another column of its own table says so; the table is no input of the job."""
    found = made('id -> a\n -> b { "@a plus tax" }\n -> r.x { "as @t.r.y" }')
    assert (found.sources("m", "b"), found.sources("m", "r.x"), found.problems) == (["t.a"], ["t.r.y"], [])
    (field,) = found.lineage("m")["b"]["inputFields"]
    assert field["transformations"][0]["type"] == "INDIRECT"
    assert [dataset["name"] for dataset in found.event("m")["inputs"]] == ["orders", "people"]


def test_a_bare_field_that_two_sources_declare_is_told() -> None:
    """The first source counts; the qualified spelling is not told, nor is a field that the prose names."""
    both = "schema p { id INT n INT }\nschema q { id INT }\nschema t { a INT b INT }\n"
    found = run_export(both + 'mapping m { source { p, q } target { t }\n id -> a\n q.id, n -> b { "with @id" }\n}')
    assert (found.sources("m", "a"), found.sources("m", "b")[0]) == (["p.id"], "q.id")
    (told,) = found.problems
    assert told.startswith(
        "main.stm:5:2: source field 'id' is declared in 'p' and in 'q'; the first counts: write p.id"
    )


def test_the_spelling_that_is_advised_is_understood() -> None:
    """Two sources may have one name in two namespaces: the advice names the namespace."""
    spec = "namespace n { schema s { id INT } }\nnamespace o { schema s { id INT } }\nschema t { a INT }\n"
    mapping = "mapping m { source { n::s, o::s } target { t } PATH -> a }"
    (told,) = run_export(spec + mapping.replace("PATH", "id")).problems
    assert "write n::s.id, or" in told
    found = run_export(spec + mapping.replace("PATH", "o::s.id"))
    assert (found.sources("m", "a"), found.problems) == (["o.s.id"], [])


def row_fields(found: Exports) -> list[tuple[str, str, str]]:
    """(field, subtype, text) of what decides on the rows of the output."""
    (output,) = found.event("m")["outputs"]
    return [
        (f"{item['name']}.{item['field']}", way["subtype"], way["description"])
        for item in output["facets"]["columnLineage"].get("dataset", [])
        for way in item["transformations"]
        if way["type"] == "INDIRECT" and not way["masking"]
    ]


def test_joins_and_filters_are_lineage_of_the_whole_dataset() -> None:
    """References, qualified names without `@`, and the bare names in the filter of one source."""
    join = "Join @orders to people on @orders.id = people.person_id WHERE @secret = id"
    found = made("id -> a", f'orders (filter "id > 5 AND x IN (`city`)"), people, "{join}"')
    assert row_fields(found) == [
        ("orders.id", "FILTER", "id > 5 AND x IN (`city`)"),
        ("orders.id", "JOIN", join),
        ("people.secret", "FILTER", join),
        ("people.person_id", "JOIN", join),
    ]
    assert found.problems == []


def test_a_filter_on_a_list_counts_where_the_list_is_read() -> None:
    """`list_of record (filter …)` decides on the rows of a mapping that reads from the list, and of no other."""
    spec = TWO.replace("lines list_of record {", 'lines list_of record (filter sku != "qty") {')
    for body, expected in (
        ("lines.qty -> a", [("orders.lines.sku", "FILTER", 'sku != "qty"')]),
        ("id -> a", []),
    ):
        assert (
            row_fields(run_export(f"{spec}\nmapping m {{ source {{ orders }} target {{ t }}\n{body}\n}}")) == expected
        )


def test_a_text_about_the_rows_that_names_no_field_is_told() -> None:
    """Nothing is dropped without a word; nor is a reference to nothing."""
    found = made("id -> a", 'orders, people, "the newest only", "on @nowhere"')
    assert row_fields(found) == []
    assert found.problems == [
        "main.stm:8:27: this text about the rows names no field of a source: write @schema.field",
        "main.stm:8:46: @nowhere refers to nothing that is known",
        "main.stm:8:46: this text about the rows names no field of a source: write @schema.field",
    ]


@pytest.mark.parametrize(
    "body",
    [
        "md5", "sha256(secret)", "trim | mask_email", '"Hash the value"', '"stored encrypted"', "concat(sha-256(x), y)",
        '"Redact all but the last four"', "...veil it", "tokenize", "partial_mask", '"SHA-256 of @secret"',
    ],
)  # fmt: skip
def test_what_masks(body: str) -> None:
    """Whole words in prose, functions in pipes, and what a named transform does."""
    assert masking(body) is True


@pytest.mark.parametrize(
    "body",
    [
        '"Count the hashtags"', '"Join on @mask_id"', '"by `hash`"', '"where mask_id = 1"', "count(hashtags)",
        "lookup(mask_id)", "mask_id", '"unmask"', "coalesce(\"hash\")", 'map { M: "masked" }', "...hash it",
        "hash_code", '"the secrets.hash"', "upper(hash)", '"take hash as it is"', "people.hash",
    ],
)  # fmt: skip
def test_what_does_not_mask(body: str) -> None:
    """Parts of words, names of fields (`hash` is one), references, data, and the name of a named transform."""
    assert masking(body) is False


def masking(body: str) -> bool:
    """Whether an arrow with this body masks."""
    found = run_export(
        "transform `veil it` { trim | ...hash it\n | sha1 }\ntransform `hash it` { trim }\n"
        + TWO.replace("secret STRING", "secret STRING hash STRING")
        + f"mapping m {{ source {{ people }} target {{ t }} person_id -> a {{ {body} }} }}"
    )
    flag: bool = found.lineage("m")["a"]["inputFields"][0]["transformations"][0]["masking"]
    return flag


def test_mail_addresses_and_patterns_are_no_references() -> None:
    """An `@` inside a word refers to nothing."""
    found = made('-> a { "write to me@id.org or match %@id" }')
    assert (found.sources("m", "a"), found.problems) == ([], [])


def test_references_to_nothing_and_to_foreign_schemas_are_told() -> None:
    """What is unknown is told; what lies in a schema that is no source is told and kept."""
    found = run_export(
        TWO
        + "namespace n { schema rates { code STRING } }\n"
        + 'mapping m { source { orders } target { t }\n -> a { "@nothing times @n::rates.code" } }'
    )
    assert found.sources("m", "a") == ["n.rates.code"]
    assert [problem.split(": ", 1)[1] for problem in found.problems] == [
        "@nothing refers to nothing that is known",
        "@n::rates.code refers to 'n::rates', which is no source of the mapping",
    ]
    assert [dataset["name"] for dataset in found.event("m")["inputs"]] == ["orders"]


def test_several_arrows_onto_one_field_are_one_entry() -> None:
    """The sources of all arrows count, and the entry is direct only if every arrow is."""
    found = made("id -> a\n people.city -> a { trim }\n id -> a { upper }").lineage("m")["a"]
    assert [item["field"] for item in found["inputFields"]] == ["id", "city"]
    assert [way["description"] for way in found["inputFields"][0]["transformations"]] == [
        "direct copy",
        "upper",
    ]
    assert found["transformationType"] == "INDIRECT"
    assert found["transformationDescription"] == "trim; upper"


def test_masking_transforms_are_marked() -> None:
    """Hashing, masking and encrypting steps mask; trimming does not."""
    found = made("people.secret -> a { sha256 | truncate(8) }\n people.city -> b { trim }").lineage("m")
    assert [found[name]["inputFields"][0]["transformations"][0]["masking"] for name in ("a", "b")] == [
        True,
        False,
    ]


def test_implied_columns_may_be_mapped() -> None:
    """Columns that modelling tokens imply count as declared, on both sides."""
    found = run_export(
        """
        schema hub_a (hub, business_key k) { k INT }
        schema sat_a (satellite, parent hub_a) { v INT }
        mapping m { source { sat_a, hub_a } target { hub_a }
          -> record_source { "CRM" }
          hub_a_hk -> k
          hash_diff -> load_date { "@load_end_date" }
        }
        """
    )
    assert found.problems == []
    assert found.sources("m", "k") == ["sat_a.hub_a_hk"]
    assert found.sources("m", "load_date") == ["sat_a.hash_diff", "sat_a.load_end_date"]


def test_every_declared_source_is_an_input_even_without_arrows() -> None:
    """A join partner is an input; without arrows there is no column lineage facet."""
    found = made("")
    assert [dataset["name"] for dataset in found.event("m")["inputs"]] == ["orders", "people"]
    assert "columnLineage" not in found.event("m")["outputs"][0]["facets"]


def test_column_lineage_stands_on_outputs_only() -> None:
    """A dataset that is the target of one mapping and the source of another carries it as an output only."""
    found = run_export(
        "schema a { x INT }\nschema b { y INT }\nschema c { z INT }\n"
        "mapping one { source { a } target { b } x -> y }\nmapping two { source { b } target { c } y -> z }"
    )
    assert "columnLineage" in found.event("one")["outputs"][0]["facets"]
    assert "columnLineage" not in found.event("two")["inputs"][0]["facets"]


def test_a_mapping_without_target_or_source_is_told() -> None:
    """The skeleton of a mapping is exported with empty sides."""
    found = run_export("schema a { x INT }\nmapping m { source { a } x -> y }\nmapping n { target { a } -> x { now } }")
    assert found.event("m")["outputs"] == []
    assert [problem.split(": ", 1)[1] for problem in found.problems] == [
        "mapping 'm' has no target",
        "mapping 'n' has no source",
    ]


def test_paths_into_schemas_that_are_no_source_and_whole_schemas_are_told() -> None:
    """A qualified path elsewhere is kept; a schema as a whole gives no column."""
    found = run_export(
        TWO
        + "namespace n { schema rates { code STRING } }\n"
        + "mapping m { source { orders, people } target { t } n::rates.code -> a  n::rates -> b }"
    )
    assert found.sources("m", "a") == ["n.rates.code"]
    assert found.sources("m", "b") == []
    assert [problem.split(": ", 1)[1] for problem in found.problems] == [
        "'n::rates.code' is in 'n::rates', which is no source of the mapping",
        "'n::rates' is in 'n::rates', which is no source of the mapping",
    ]


def test_an_arrow_onto_the_target_schema_as_a_whole_is_told() -> None:
    """There is no column to attach the lineage to."""
    mapping = "mapping m { source { orders } target { z } id -> n::z }"
    found = run_export(TWO + f"namespace n {{ schema z {{ q INT }} {mapping} }}")
    assert found.lineage("n.m") == {}
    assert "'n::z' is a schema, not a field" in found.problems[0]
