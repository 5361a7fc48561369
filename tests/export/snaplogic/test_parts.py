"""Table names, files, accounts, SQL and virtual datasets, each on its own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineagelog.export.snaplogic import (
    AccountBook,
    Naming,
    VirtualDataset,
    VirtualNames,
    read_accounts,
    read_namespaces,
    virtual_dataset,
    virtual_name,
)
from lineagelog.export.snaplogic.accounts import AccountReference, Target
from lineagelog.export.snaplogic.names import file_name, table_name
from lineagelog.export.snaplogic.sql import soql, tables

SNAP = "9d2c67ed-a13f-4e79-b9cb-9e86830c71c2"


@pytest.mark.parametrize(
    ("schema", "table", "system", "name"),
    [
        ('"public"', '"public"."orders"', "Postgres", "db.public.orders"),
        ("public", "orders", "Postgres", "db.public.orders"),
        ("", "orders", "Postgres", "db.orders"),
        ("`web`", "`web`.`orders`", "MySQL", "web.orders"),
        ("", "orders", "MySQL", "db.orders"),
        ("dbo", "[dbo].[order lines]", "SQL Server", "db.dbo.order lines"),
        ("x", "other.dbo.orders", "SQL Server", "other.dbo.orders"),
        ('"a.b"', '"c.d"', "Oracle", "db.a.b.c.d"),
        ("", '"say ""hi"""', "Oracle", 'db.say "hi"'),
    ],
)
def test_a_schema_is_never_doubled(schema: str, table: str, system: str, name: str) -> None:
    """Quotes of all systems come off, a qualified table wins, MySQL's schema is its database."""
    assert table_name(schema, table, system, Target(database="db", known=True)) == name


@pytest.mark.parametrize(
    ("url", "documented", "openlineage"),
    [
        ("file:///data/a b.csv", ("file", "/data/a b.csv"), ("file", "/data/a b.csv")),
        ("s3:///lake/x/y.json", ("S3", "lake/x/y.json"), ("s3://lake", "x/y.json")),
        ("s3://lake@s3.eu-west-1.amazonaws.com/y.json", ("S3", "lake/y.json"), ("s3://lake", "y.json")),
        ("sftp://u:p@host:22/in/a.csv", ("SFTP", "host:22/in/a.csv"), ("sftp://host:22", "/in/a.csv")),
        ("https://host/a?token=1", ("HTTP", "host/a"), ("https://host", "/a")),
        ("shared/a.csv", ("SLDB", "shared/a.csv"), ("SLDB", "shared/a.csv")),
    ],
)
def test_files(url: str, documented: tuple[str, str], openlineage: tuple[str, str]) -> None:
    """Credentials and queries are left out, buckets are namespaces in OpenLineage's naming."""
    for naming, expected in ((Naming.DOCUMENTED, documented), (Naming.OPENLINEAGE, openlineage)):
        found = file_name(url, naming)
        assert (found.namespace, found.name) == expected


@pytest.mark.parametrize(
    ("statement", "reads", "writes"),
    [
        ("SELECT * FROM a.b JOIN c ON c.x = b.x", ["a.b", "c"], []),
        ('select x from "s"."t" where y in (select y from [u])', ['"s"."t"', "[u]"], []),
        ("INSERT INTO t (a) SELECT a FROM s", ["s"], ["t"]),
        ("UPDATE t SET a = 1", [], ["t"]),
        ("DELETE FROM t WHERE a = 'from x'", [], ["t"]),
        ("TRUNCATE TABLE t; CREATE TABLE IF NOT EXISTS n AS SELECT 1 FROM o", ["o"], ["t", "n"]),
        ("MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN UPDATE SET a = 2", ["s"], ["t"]),
        ("WITH w AS (SELECT 1 FROM a), v AS (SELECT 2 FROM w) SELECT * FROM v", ["a"], []),
        ("SELECT * FROM a -- FROM b\n/* FROM c */", ["a"], []),
        ("SELECT extract(day FROM now()) FROM a", ["a"], []),
        ("no statement", [], []),
    ],
)
def test_tables_of_statements(statement: str, reads: list[str], writes: list[str]) -> None:
    """Comments, texts, WITH names and functions are no tables."""
    found = tables(statement)
    assert (list(found.reads), list(found.writes)) == (reads, writes)

    """Plain columns and aliases; an expression makes the list unknown."""
    assert soql("SELECT Id, Owner.Name FROM Account WHERE X = 1") == ("Account", ("Id", "Owner.Name"))
    assert soql("SELECT count() FROM Account") == ("Account", ())
    assert soql("FIND x") == ("", ())


@given(st.text(max_size=80))
def test_any_text_is_a_statement_a_table_and_a_url(text: str) -> None:
    """Nothing raises."""
    tables(text)
    soql(text)
    table_name("", text, "Oracle", Target())
    file_name(text, Naming.OPENLINEAGE)


def _asset(path: str, identity: str, settings: dict[str, Any]) -> dict[str, Any]:
    label = path.rpartition("/")[2]
    properties = {"info": {"label": {"value": label}}, "settings": settings}
    return {"path": path, "account": {"instance_id": identity, "property_map": properties}}


def _connection(**values: object) -> dict[str, Any]:
    return {"connectionProperties": {"value": {key: {"value": value} for key, value in values.items()}}}


ASSETS = [
    _asset("/Org/shared/db", "1", _connection(hostname="a", portNumber=1)),
    _asset("/Org/other/db", "2", _connection(hostname="b", databaseName="d")),
    _asset("/Org/x/url", "3", {"customJdbcUrl": {"value": "jdbc:postgresql://h:5433/app?user=u&password=secret"}}),
]


def test_accounts_by_id_path_and_label() -> None:
    """The id decides, then the longest common end of the path; a JDBC URL tells system, host and database,
    not the password."""
    book = AccountBook(read_accounts(json.dumps(ASSETS).encode(), "a.json"))
    assert book.target(AccountReference("db", "2"), "Postgres").database == "d"
    assert book.target(AccountReference("../shared/db"), "Postgres").namespace == "postgres://a:1"
    assert book.target(AccountReference("../other/db"), "Postgres").namespace == "postgres://b"
    url = book.target(AccountReference("url"), "JDBC")
    assert (url.system, url.namespace, url.database) == ("Postgres", "postgres://h:5433", "app")
    assert not book.target(AccountReference("none"), "Postgres").known


def test_plain_accounts_and_namespaces() -> None:
    """A short form without assets."""
    plain = read_accounts(b'{"db": {"hostname": "h", "portNumber": 5, "databaseName": "d"}}', "a.json")
    mapped = read_namespaces(b'{"db": {"system": "My DB", "openlineage_namespace": null, "database": "e"}}', "n.json")
    target = AccountBook(plain, mapped).target(AccountReference("shared/db"), "MySQL")
    assert (target.system, target.database) == ("My DB", "e")


@pytest.mark.parametrize("label", ["Read", "Read: all", "a:b : c", "", "ü (x)", "line\nbreak"])
@pytest.mark.parametrize("view", ["", "error0"])
def test_virtual_names_are_recognised_in_both_forms(label: str, view: str) -> None:
    """Labels may hold colons and brackets; the short form knows five characters of the id."""
    long = virtual_name(label, SNAP, view)
    short = virtual_name(label, SNAP, view, VirtualNames.SNAPLOGIC)
    assert virtual_dataset("SnapLogic", long) == VirtualDataset(label, SNAP, view)
    assert virtual_dataset("SnapLogic", short) == VirtualDataset(label, SNAP[:5], view)


@pytest.mark.parametrize(
    ("namespace", "name", "virtual"),
    [
        ("SnapLogic", f"Copy:{SNAP}", True),
        ("snaplogic", f"Virtual_DB.Virtual_Schema.Copy:{SNAP[:5]}", True),
        ("SnapLogic", f"VIRTUAL_DB.VIRTUAL_SCHEMA.Copy:{SNAP.upper()}", True),
        ("SnapLogic", "SALES.PUBLIC.ORDERS", False),
        ("SnapLogic", "Copy: 9d2c6", False),
        ("Postgres", f"Copy: {SNAP}", False),
        ("SnapLogic", f"{SNAP}", False),
    ],
)
def test_what_is_a_virtual_dataset(namespace: str, name: str, virtual: bool) -> None:
    """SnapLogic's namespace and one of the two forms, in any case."""
    assert (virtual_dataset(namespace, name) is not None) == virtual
