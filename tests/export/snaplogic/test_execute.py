"""Execute Snaps: the columns of their SQL, from tables and from the document; what cannot be read is said."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineagelog.export.snaplogic import Nested, PipelineExport
from lineagelog.export.snaplogic.statement import read_statement, statement_text

from .build import Json, account, chain, expr, lit
from .support import columns, datasets, event, lineage, run, warnings

type Found = dict[str, tuple[list[str], str]]

MAPPED = "Mapping"


def execute(statement: Json, *uses: str, kind: str = "postgres", **options: object) -> PipelineExport:
    """The export of a generator of `a` and `b.c`, an Execute Snap, and a Mapper that uses fields of it."""
    settings = {"sqlStatement": statement, "passThrough": lit(True)}
    return run(chain(f"{kind}-execute", "It", settings, *uses, account=account("shop", "postgres")), **options)


@pytest.mark.parametrize(
    ("statement", "use", "found"),
    [
        (
            "SELECT o.id, upper(c.name) AS who, o.net + o.tax total FROM s.orders o JOIN s.customers c ON c.id = o.cid",
            "id",
            {
                "id": (["shopdb.s.orders.id"], MAPPED),
                "total": (["shopdb.s.orders.net", "shopdb.s.orders.tax"], "+"),
                "who": (["shopdb.s.customers.name"], "UPPER"),
            },
        ),
        (
            "SELECT country, count(*) AS n, sum(net) AS net FROM s.orders WHERE id > $a GROUP BY country",
            "n",
            {
                "country": (["shopdb.s.orders.country"], MAPPED),
                "n": ([], ""),
                "net": (["shopdb.s.orders.net"], "SUM"),
            },
        ),
        (
            "SELECT *, id AS request FROM s.requests",
            "state",
            {"request": (["shopdb.s.requests.id"], MAPPED), "state": (["shopdb.s.requests.state"], MAPPED)},
        ),
        (
            "WITH w AS (SELECT x.id, y.v FROM s.x JOIN s.y ON x.id = y.id) SELECT w.*, $b.c AS mine FROM w",
            "v",
            {
                "id": (["shopdb.s.x.id"], MAPPED),
                "mine": (["Gen.b"], MAPPED),
                "v": (["shopdb.s.y.v"], MAPPED),
            },
        ),
        ("SELECT v FROM s.x UNION SELECT w FROM s.y", "v", {"v": (["shopdb.s.x.v", "shopdb.s.y.w"], MAPPED)}),
        ("SELECT q.k FROM (SELECT * FROM s.x) q", "k", {"k": (["shopdb.s.x.k"], MAPPED)}),
    ],
    ids=["join", "group", "star", "with", "union", "star inside"],
)
def test_columns_of_a_select(statement: str, use: str, found: Found) -> None:
    """Aliases, functions, joins, stars; `$field` is a column of the document. The input is under `original`."""
    exported = execute(lit(statement), use)
    got = lineage(event(exported, "It")["outputs"][0])
    assert {name: origin for name, origin in got.items() if name != "original"} == found
    assert got["original"] == (["Gen.a", "Gen.b"], MAPPED)
    assert warnings(exported) == []


def test_a_star_of_known_tables() -> None:
    """`--columns` tells them, whether with or without the database; a name on both sides has both as origin."""
    told = {"shopdb.s.x": ("id", "p"), "s.y": ("id", "q")}
    exported = execute(lit("SELECT * FROM s.x JOIN s.y ON x.id = y.id"), "p", columns=told)
    got = lineage(event(exported, "It")["outputs"][0])
    assert (got["p"], got["q"]) == ((["shopdb.s.x.p"], MAPPED), (["shopdb.s.y.q"], MAPPED))
    assert got["id"][0] == ["shopdb.s.x.id", "shopdb.s.y.id"]


def test_a_star_of_several_unknown_tables_is_told() -> None:
    """A used column may come from either; a warning says so."""
    exported = execute(lit("SELECT * FROM s.x JOIN s.y ON x.id = y.id"), "p")
    got = lineage(event(exported, "It")["outputs"][0])
    assert got["p"][0] == ["shopdb.s.x.p", "shopdb.s.y.p"]
    assert any("p may come from either" in message for message in warnings(exported))


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        (
            lit("INSERT INTO s.t (id, title, at) VALUES ($a, upper($b.c), now())"),
            {"at": ([], ""), "id": (["Gen.a"], MAPPED), "title": (["Gen.b"], "UPPER")},
        ),
        (
            lit("UPDATE s.t SET n = n + $a, state = 'done' WHERE id = $b.c"),
            {"n": (["shopdb.s.t.n", "Gen.a"], "+"), "state": ([], "")},
        ),
        (
            expr('"UPDATE s.t SET v = \'" + $a.trim() + "\' WHERE d = \'" + _day + "\' AND id = " + $b.c'),
            {"v": (["Gen.a"], "trim")},
        ),
        (
            expr("`UPDATE ${_schema}.t SET v = '${$a.trim()}' WHERE id = ${$b.c}`"),
            {"v": (["Gen.a"], "trim")},
        ),
        (
            lit("INSERT INTO s.t (x, y) SELECT u.p, $a FROM s.u WHERE u.q = 1"),
            {"x": (["shopdb.s.u.p"], MAPPED), "y": (["Gen.a"], MAPPED)},
        ),
        (
            lit(
                "MERGE INTO s.t USING (SELECT $a AS id, $b.c AS name) n ON t.id = n.id "
                "WHEN MATCHED THEN UPDATE SET name = n.name "
                "WHEN NOT MATCHED THEN INSERT (id, name) VALUES (n.id, n.name)"
            ),
            {"id": (["Gen.a"], MAPPED), "name": (["Gen.b"], MAPPED)},
        ),
        (
            lit("INSERT INTO s.t (id) VALUES ($a) ON CONFLICT (id) DO UPDATE SET seen = $b.c, id = EXCLUDED.id"),
            {"id": (["Gen.a"], MAPPED), "seen": (["Gen.b"], MAPPED)},
        ),
        (
            lit("UPDATE s.t SET (x, y) = (SELECT u.p, u.q FROM s.u WHERE u.id = t.id)"),
            {"x": (["shopdb.s.u.p"], MAPPED), "y": (["shopdb.s.u.q"], MAPPED)},
        ),
    ],
    ids=["values", "update", "expression", "template", "insert select", "merge", "conflict", "tuple"],
)
def test_columns_of_a_write(statement: Json, found: Found) -> None:
    """From the tables of the statement and the fields of the document; its own output is the input under `original`."""
    settings = {"sqlStatement": statement, "passThrough": lit(True)}
    sample = chain("postgres-execute", "It", settings, "original.a", account=account("shop", "postgres"))
    sample.parameters = {"schema": "s", "day": "2026-02-03"}
    exported = run(sample)
    outputs = event(exported, "It")["outputs"]
    assert datasets(outputs) == ["SnapLogic | It", "Postgres | shopdb.s.t"]
    assert lineage(outputs[1]) == found
    assert lineage(outputs[0]) == {"original": (["Gen.a", "Gen.b"], MAPPED)}
    assert warnings(exported) == []


def test_fields_of_a_where_clause_filter() -> None:
    """They are in no column; today's facet has them."""
    it = event(execute(lit("DELETE FROM s.t WHERE id = $a -- $b"), "original.a", modern=True), "It")
    assert columns(it["outputs"][1]) == []
    read = it["outputs"][0]["facets"]["columnLineage"]["dataset"]
    assert [(use["field"], use["transformations"][0]["subtype"]) for use in read] == [("a", "FILTER")]


def test_an_alias_in_the_from_clause_names_the_target_of_an_update() -> None:
    """SQL Server's form."""
    statement = lit("UPDATE o SET o.Total = i.Amount FROM dbo.Orders o JOIN dbo.Items i ON i.OrderId = o.Id")
    settings = {"sqlStatement": statement}
    it = event(run(chain("sqlserver-execute", "It", settings, account=account("crm", "sqlserver"))), "It")
    assert lineage(it["outputs"][-1]) == {"Total": (["crm.dbo.Items.Amount"], MAPPED)}
    assert datasets(it["outputs"])[-1] == "SQL Server | crm.dbo.Orders"


def test_a_dialect_that_folds_names_finds_them_in_another_case() -> None:
    """Oracle gives `ID` for `id`: the successor's spelling counts."""
    exported = run(chain("oracle-execute", "It", {"sqlStatement": lit("select id from t")}, "ID"))
    assert lineage(event(exported, "It")["outputs"][0]) == {"ID": (["t.id"], MAPPED)}


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        (lit("EXEC dbo.refresh @a = 1"), "not understood"),
        (lit("BEGIN EXECUTE IMMEDIATE 'CREATE TABLE x (a int)'; END;"), "not understood"),
        (lit("INSERT INTO s.t VALUES ($a)"), "names no columns"),
        (lit("INSERT INTO s.t SELECT * FROM s.u"), "the columns of s.u are not known"),
        (expr("$a"), "depends on documents"),
        (expr('"SELECT x FROM " + $a'), "depends on documents"),
        (expr('"SELECT x FROM " + _nowhere + ".t"'), "depends on documents or unknown parameters"),
    ],
)
def test_what_is_not_understood_is_a_warning_with_its_snap(statement: Json, told: str) -> None:
    """And the rest of the pipeline is exported."""
    exported = execute(statement, "x", kind="sqlserver")
    assert any(message.startswith("Snap 'It': SQL: ") and told in message for message in warnings(exported))


def test_each_row_of_a_multi_execute_is_a_statement() -> None:
    """What they write is put together; the last SELECT is what comes back."""
    rows = {"value": [{"sql": lit("INSERT INTO s.t (x) VALUES ($a)")}, {"sql": lit("SELECT y FROM s.u")}]}
    settings = {"sqlStatements": rows}
    it = event(run(chain("postgres-multiexecute", "It", settings, "y", account=account("shop", "postgres"))), "It")
    assert lineage(it["outputs"][0])["y"] == (["shopdb.s.u.y"], MAPPED)
    assert lineage(it["outputs"][1]) == {"x": (["Gen.a"], MAPPED)}


def test_a_field_in_a_text_or_a_name_is_no_field() -> None:
    """Texts, comments, quoted names, `$1`, `v$session`; `$.eval()` is a value."""
    text = statement_text("SELECT '$a', v$b.x, $1, $.eval(_day) FROM \"$c\" /* $d */ WHERE e = $e.f[0].g", False, {})
    assert [facts.reads for facts in text.marked] == [(), (("e", "f", "g"),)]
    assert "'2026'" in statement_text("d = $.eval(_day)", False, {"day": "2026"}).sql


def test_whole_paths() -> None:
    """With `--nested path` a bound field keeps its path."""
    it = event(execute(lit("INSERT INTO s.t (x) VALUES ($b.c)"), nested=Nested.PATH), "It")
    assert lineage(it["outputs"][-1]) == {"x": (["Gen.b.c"], MAPPED)}


@given(st.text(max_size=60), st.sampled_from([None, "tsql", "oracle", "snowflake"]), st.booleans())
def test_any_text_is_read_or_told(text: str, dialect: str | None, expression: bool) -> None:
    """Nothing raises."""
    found = read_statement(statement_text(text, expression, {}), dialect, {})
    assert json.dumps(found.problems)


@pytest.mark.parametrize(
    ("kind", "names", "told"),
    [
        ("postgres", ["?column?", "a", "count", "max"], False),
        ("oracle", ["A + ?", "COUNT(*)", "MAX(B)", "a"], False),
        ("sqlserver", ["a"], True),
    ],
)
def test_columns_without_alias_are_called_as_the_database_calls_them(kind: str, names: list[str], told: bool) -> None:
    """Never by a name that a parser made up."""
    statement = lit("SELECT a, max(b), count(*), a + $a FROM t GROUP BY a")
    exported = run(chain(f"{kind}-execute", "It", {"sqlStatement": statement}))
    assert columns(event(exported, "It")["outputs"][0]) == names
    assert any("give it an alias" in message for message in warnings(exported)) == told


def test_without_sqlglot_tables_are_found_and_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The export goes on."""
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    exported = execute(lit("INSERT INTO s.t (x) SELECT y FROM s.u"))
    it = event(exported, "It")
    assert datasets(it["inputs"])[1:] == ["Postgres | shopdb.s.u"]
    assert datasets(it["outputs"])[1:] == ["Postgres | shopdb.s.t"]
    assert any("pip install 'lineagelog[export]'" in message for message in warnings(exported))
