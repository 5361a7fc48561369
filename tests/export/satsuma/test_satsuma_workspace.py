"""The workspace: imports, namespaces, spreads, and what is said about names that are not there."""

from __future__ import annotations

import pytest

from lineagelog.errors import InputError
from lineagelog.export.satsuma import SatsumaError

from .support import read_spec, run_export

MAPPING = "mapping m { source { a } target { b } x -> y }"


def test_imports_are_followed_relative_to_their_file() -> None:
    """A file is found from the folder of the file that imports it, and read once however it is reached."""
    spec = read_spec(
        {
            "top/main.stm": 'import { a } from "../lib/a.stm"\nimport { b } from "./b.stm"\n' + MAPPING,
            "lib/a.stm": 'import { b } from "../top/b.stm"\nschema a { x INT }',
            "top/b.stm": "schema b { y INT }",
        }
    )
    assert spec.files == ("top/main.stm", "lib/a.stm", "top/b.stm")
    assert list(spec.schemas) == ["a", "b"]
    assert spec.problems == ()


def test_the_mappings_of_imported_files_are_exported_too() -> None:
    """A platform file that only imports gives the jobs of all it reaches."""
    made = run_export(
        {
            "platform.stm": 'import { b } from "pipeline.stm"',
            "pipeline.stm": "schema a { x INT }\nschema b { y INT }\n" + MAPPING,
        }
    )
    assert made.sources("m", "y") == ["a.x"]


def test_circular_imports_are_read_once_and_told() -> None:
    """Files may import each other; the circle is a problem with its place, not an error."""
    spec = read_spec(
        {
            "one.stm": 'import { b } from "two.stm"\nschema a { x INT }',
            "two.stm": '\nimport { a } from "one.stm"\nschema b { y INT }',
        }
    )
    assert [str(problem) for problem in spec.problems] == [
        "two.stm:2:19: the imports go in a circle: one.stm → two.stm → one.stm; each file is read once"
    ]
    assert set(spec.schemas) == {"a", "b"}


def test_a_file_that_imports_itself_is_told() -> None:
    """The shortest circle."""
    spec = read_spec({"one.stm": 'import { a } from "one.stm"\nschema a { x INT }'})
    assert "one.stm → one.stm" in str(spec.problems[0])


def test_a_missing_import_names_the_file_the_place_and_what_to_do() -> None:
    """The error stands at the import statement."""
    with pytest.raises(SatsumaError) as caught:
        read_spec({"top/main.stm": '\nimport { a } from "lib/a.stm"'})
    assert str(caught.value) == (
        "top/main.stm:2:19: the imported file top/lib/a.stm cannot be read: No such file or directory; "
        'correct the path, which is relative to this file, in `import { a } from "lib/a.stm"`'
    )


def test_an_error_is_one_line_whatever_the_spec_holds() -> None:
    """A path that spans lines is told in one."""
    with pytest.raises(SatsumaError) as caught:
        read_spec('import { a } from "x\ny.stm"')
    assert "\n" not in str(caught.value)


def test_a_missing_first_file_is_an_input_error() -> None:
    """The file that the export begins with is named."""
    from lineagelog.export.satsuma import OwnEngine

    def nothing(path: str) -> bytes:
        raise FileNotFoundError(2, "No such file or directory")

    with pytest.raises(InputError, match=r"^gone\.stm: cannot be read: No such file or directory$"):
        OwnEngine(nothing).read(["gone.stm"])


def test_an_unknown_schema_in_a_mapping_is_an_error_with_a_hint() -> None:
    """The name, its place, and the names that may be meant."""
    with pytest.raises(SatsumaError) as caught:
        read_spec("schema customers { x INT }\nmapping m {\n  source { custmers }\n  target { customers }\n}")
    assert str(caught.value) == (
        "main.stm:3:12: mapping 'm' has the unknown source schema 'custmers'; did you mean 'customers'?, "
        "in `source { custmers }`"
    )


def test_a_schema_of_another_namespace_is_hinted_at() -> None:
    """A bare name that exists in a namespace only is not found from outside."""
    with pytest.raises(SatsumaError, match=r"unknown target schema 'b'; did you mean 'mart::b'\?"):
        read_spec("namespace mart { schema b { y INT } }\nschema a { x INT }\nmapping m { source {a} target {b} }")


def test_names_are_looked_up_in_the_own_namespace_first() -> None:
    """In a namespace a bare name means its own schema, then the one outside; `::` and backticks qualify."""
    made = run_export(
        """
        schema a { x INT }
        schema c { z INT }
        namespace n {
          schema a { x INT }
          schema b { y INT }
          mapping one { source { a } target { b } x -> y }
          mapping two { source { c } target { `n::b` } z -> y }
        }
        mapping three { source { n::a } target { c } x -> z }
        """
    )
    assert made.sources("n.one", "y") == ["n.a.x"]
    assert made.sources("n.two", "y") == ["c.z"]
    assert made.sources("three", "z") == ["n.a.x"]


def test_a_schema_that_is_defined_twice_is_an_error() -> None:
    """Both places are named."""
    with pytest.raises(SatsumaError, match=r"two\.stm:1:1: schema 'a' is already defined in main\.stm:2"):
        read_spec({"main.stm": 'import { a } from "two.stm"\nschema a { x INT }', "two.stm": "schema a { x INT }"})


def test_an_imported_name_that_is_not_there_is_a_problem() -> None:
    """The export goes on, and the name is told with what may be meant."""
    spec = read_spec(
        {
            "main.stm": 'import { adress, a } from "lib.stm"',
            "lib.stm": "schema a { x INT }\nfragment address { }",
        }
    )
    assert [str(problem) for problem in spec.problems] == [
        "main.stm:1:27: lib.stm does not define 'adress'; did you mean 'address'?"
    ]


def test_what_is_used_without_being_imported_is_a_problem() -> None:
    """A name of another file is found all the same, and the import that is missing is spelled out."""
    spec = read_spec(
        {
            "p/main.stm": 'import { a } from "../lib/a.stm"\nschema b { y INT }\n'
            "mapping m { source { a, other }\n target { b } }",
            "lib/a.stm": "schema a { x INT }\nschema other { z INT }",
        }
    )
    assert [str(problem) for problem in spec.problems] == [
        "p/main.stm:3:25: 'other' is not imported here; add `import { other } from \"../lib/a.stm\"`"
    ]


def test_an_imported_name_brings_what_it_needs() -> None:
    """A mapping brings its schemas and a schema its fragments into scope."""
    spec = read_spec(
        {
            "main.stm": 'import { m } from "lib.stm"\nmapping n { source { a } target { b } }',
            "lib.stm": "fragment f { x INT }\nschema a { ...f }\nschema b { y INT }\n" + MAPPING,
        }
    )
    assert spec.problems == ()


def test_spreads_come_last_and_are_shadowed_by_the_body() -> None:
    """The body's declaration stands, the first of two spreads wins, and spreads follow the body's fields."""
    made = run_export(
        """
        fragment f { created TIMESTAMP  who TEXT }
        fragment g { who VARCHAR(9)  extra INT }
        schema a { ...f
 id INT  created DATE  ...g
 }
        schema b { y INT }
        mapping m { source { a } target { b } id -> y }
        """
    )
    assert made.columns("a") == {"id": "INT", "created": "DATE", "who": "TEXT", "extra": "INT"}


def test_spreads_of_spreads_and_in_records() -> None:
    """A fragment may spread another one, from its own namespace, and a record may spread."""
    made = run_export(
        """
        namespace lib { fragment inner { c INT }  fragment outer { b INT ...inner } }
        fragment `two words` { d INT }
        schema a { r record { ...two words
            e INT } ...lib::outer
        }
        schema t { y INT }
        mapping m { source { a } target { t } r.d -> y }
        """
    )
    assert list(made.columns("a")) == ["r.e", "r.d", "b", "c"]
    assert made.problems == []


def test_an_unknown_fragment_is_an_error() -> None:
    """A schema with an unknown spread would lack columns."""
    with pytest.raises(SatsumaError, match=r"main\.stm:2:12: there is no fragment 'audit field'; did you mean"):
        read_spec("fragment `audit fields` { x INT }\nschema a { ...audit field\n}")


def test_fragments_that_spread_each_other_are_an_error() -> None:
    """The circle is spelled out."""
    with pytest.raises(SatsumaError, match=r"in a circle: f → g → f"):
        read_spec("fragment f { ...g\n}\nfragment g { ...f\n}\nschema a { ...f\n}")


def test_many_fragments_that_spread_two_each_are_expanded_once() -> None:
    """Twenty-five levels of two spreads each would be 33 million copies if each were expanded anew."""
    levels = "".join(f"fragment f{n} {{ ...f{n + 1}\n x{n} INT ...f{n + 1}\n}}\n" for n in range(25))
    spec = read_spec(levels + "fragment f25 { last INT }\nschema a { ...f0\n}")
    assert len(spec.schemas["a"].fields) == 26


def test_fragments_in_a_very_long_chain_are_an_error() -> None:
    """A chain of a hundred fragments is refused, not a crash."""
    chain = "".join(f"fragment f{n} {{ ...f{n + 1}\n}}\n" for n in range(100))
    with pytest.raises(SatsumaError, match=r"spread more than 64 deep"):
        read_spec(chain + "fragment f100 { x INT }\nschema a { ...f0\n}")


def test_a_thousand_files_that_import_the_next_are_read() -> None:
    """The length of a chain of imports has no limit."""
    files = {f"f{n}.stm": f'import {{ s{n + 1} }} from "f{n + 1}.stm"\nschema s{n} {{ x INT }}' for n in range(1500)}
    assert len(read_spec({**files, "f1500.stm": "schema s1500 { x INT }"}).schemas) == 1501


def test_a_fragment_may_stand_as_a_source() -> None:
    """A mapping may name a fragment; it is a dataset then."""
    made = run_export("fragment f { x INT }\nschema b { y INT }\nmapping m { source { f } target { b } x -> y }")
    assert made.columns("f") == {"x": "INT"}
    assert made.sources("m", "y") == ["f.x"]


def test_records_that_nest_without_end_through_fragments_are_an_error() -> None:
    """Fragments whose records spread each other's records are refused before they are too deep to walk."""
    opening, closing = "r record { " * 50, "}" * 50
    chain = [f"fragment f{n} {{ {opening} ...f{n - 1}\n{closing} }}\nschema s{n} {{ ...f{n}\n}}" for n in range(1, 10)]
    with pytest.raises(SatsumaError, match=r"nested more than 128 deep through fragments"):
        read_spec("\n".join(["fragment f0 { x INT }", *chain]))


def test_a_field_that_is_declared_twice_is_told() -> None:
    """The first declaration stands."""
    made = run_export(
        "schema a { x INT\n r record { y INT  y TEXT }\n x TEXT }\nmapping m { source { a } target { a } x -> r.y }"
    )
    assert made.columns("a") == {"x": "INT", "r.y": "INT"}
    assert sorted(made.problems) == [
        "main.stm:2:20: field 'y' is declared twice in 'a'; the first one stands",
        "main.stm:3:2: field 'x' is declared twice in 'a'; the first one stands",
    ]


def test_definitions_that_share_a_name_are_told() -> None:
    """There is one name space for all kinds of definitions, over all files; anonymous mappings have no name."""
    made = run_export(
        {
            "main.stm": 'import { x } from "x.stm"\nschema a { k INT }\nschema m { k INT }\n'
            "mapping m { source { a } target { m } k -> k }\nmapping m { source { a } target { m } k -> k }\n"
            "mapping { source { a } target { m } }\nmapping { source { a } target { m } }\n"
            "transform a { trim }\nnamespace n { schema a { k INT } }\n",
            "x.stm": "schema x { k INT }\nfragment m { k INT }\n",
        }
    )
    assert made.problems == [
        "main.stm:4:1: mapping 'm' has the name of the schema in main.stm:3; rename one of the two",
        "main.stm:5:1: mapping 'm' has the name of the schema in main.stm:3; rename one of the two",
        "main.stm:8:1: transform 'a' has the name of the schema in main.stm:2; rename one of the two",
        "x.stm:2:1: fragment 'm' has the name of the schema in main.stm:3; rename one of the two",
    ]


def test_the_unknown_source_of_a_report_has_its_place() -> None:
    """The very item of the list, on its own line."""
    text = "schema a { k INT }\nschema r (\n  report,\n  source {a,\n    `no where`}\n) { k INT }"
    with pytest.raises(SatsumaError, match=r"^main\.stm:5:5: report 'r' has the unknown source 'no where'") as caught:
        read_spec(text)
    assert caught.value.excerpt == "    `no where`}"


def test_namespaces_that_contradict_themselves_are_told() -> None:
    """A namespace may be opened many times, and says one thing about itself."""
    made = run_export(
        'namespace n (note "A") { schema a { k INT } }\nnamespace n (note "A", tier 1) { schema b { k INT } }\n'
        'namespace n { schema c { k INT } }\nnamespace n (note "B") { mapping m { source { a } target { b } } }\n'
    )
    assert made.problems == ["main.stm:4:1: namespace 'n' has another 'note' than in main.stm:1"]
