"""Fifty statements as people write them, and what they read and write: the measure for `lineage_from_sql`.

``columns``: for each column of the output that can be known from the text, the columns that its expression uses ("a.b" is
column b of table a); what filters, joins or sorts the whole is no source. ``known``: columns that the text does not tell.
"""

# ruff: noqa: E501 - statements as they are written

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Query:
    """A statement (or script) and its lineage."""

    name: str
    dialect: str
    sql: str
    inputs: str
    """Tables read, space-separated."""
    outputs: str
    columns: dict[str, str] = field(default_factory=dict)
    """Output column → source columns, space-separated; '' for a column that comes from no table."""
    known: dict[str, list[str]] = field(default_factory=dict)


QUERIES = [
    Query("select", "postgres", "SELECT id, name FROM customers WHERE active", "customers", ""),
    Query(
        "ctas",
        "postgres",
        "CREATE TABLE active AS SELECT id, name AS full_name FROM customers WHERE active",
        "customers",
        "active",
        {"id": "customers.id", "full_name": "customers.name"},
    ),
    Query(
        "insert select",
        "postgres",
        "INSERT INTO dwh.orders SELECT o.id, o.amount * 100 AS cents FROM shop.orders o",
        "shop.orders",
        "dwh.orders",
        {"id": "shop.orders.id", "cents": "shop.orders.amount"},
    ),
    Query(
        "insert with columns",
        "postgres",
        "INSERT INTO dwh.orders (order_id, total) SELECT id, amount + tax FROM shop.orders",
        "shop.orders",
        "dwh.orders",
        {"order_id": "shop.orders.id", "total": "shop.orders.amount shop.orders.tax"},
    ),
    Query(
        "join",
        "postgres",
        """CREATE TABLE enriched AS SELECT o.id, c.city, o.amount FROM orders o
           LEFT JOIN customers c ON o.customer_id = c.id""",
        "orders customers",
        "enriched",
        {"id": "orders.id", "city": "customers.city", "amount": "orders.amount"},
    ),
    Query(
        "aggregate",
        "postgres",
        """INSERT INTO revenue SELECT date_trunc('day', at) AS day, sum(amount) AS total, count(*) AS n
           FROM orders GROUP BY 1 HAVING sum(amount) > 0 ORDER BY 2""",
        "orders",
        "revenue",
        {"day": "orders.at", "total": "orders.amount", "n": ""},
    ),
    Query(
        "cte",
        "postgres",
        """CREATE TABLE big AS WITH recent AS (SELECT id, amount FROM orders WHERE at > now() - interval '1 day')
           SELECT id, amount AS value FROM recent WHERE amount > 100""",
        "orders",
        "big",
        {"id": "orders.id", "value": "orders.amount"},
    ),
    Query(
        "chained ctes",
        "postgres",
        """CREATE TABLE result AS
           WITH a AS (SELECT id, x FROM t1), b AS (SELECT id, x + 1 AS y FROM a), c AS (SELECT id, y * 2 AS z FROM b)
           SELECT c.id, c.z, a.x FROM c JOIN a ON a.id = c.id""",
        "t1",
        "result",
        {"id": "t1.id", "z": "t1.x", "x": "t1.x"},
    ),
    Query(
        "cte named like a table elsewhere",
        "postgres",
        "INSERT INTO out_t WITH orders AS (SELECT id FROM shop.orders) SELECT id FROM orders",
        "shop.orders",
        "out_t",
        {"id": "shop.orders.id"},
    ),
    Query(
        "with before insert",
        "postgres",
        "WITH s AS (SELECT id, qty FROM stock) INSERT INTO stock_copy (id, qty) SELECT id, qty FROM s",
        "stock",
        "stock_copy",
        {"id": "stock.id", "qty": "stock.qty"},
    ),
    Query(
        "recursive cte",
        "postgres",
        """CREATE TABLE tree AS WITH RECURSIVE r (id, parent, depth) AS (
             SELECT id, parent_id, 0 FROM nodes WHERE parent_id IS NULL
             UNION ALL SELECT n.id, n.parent_id, r.depth + 1 FROM nodes n JOIN r ON n.parent_id = r.id)
           SELECT id, parent, depth FROM r""",
        "nodes",
        "tree",
        {"id": "nodes.id", "parent": "nodes.parent_id", "depth": ""},
    ),
    Query(
        "subquery in from",
        "postgres",
        "CREATE TABLE t AS SELECT s.a, s.b2 FROM (SELECT a, b AS b2 FROM src) s",
        "src",
        "t",
        {"a": "src.a", "b2": "src.b"},
    ),
    Query(
        "subquery in where",
        "postgres",
        "INSERT INTO t SELECT a FROM src WHERE id IN (SELECT id FROM allowed) AND EXISTS (SELECT 1 FROM flags f WHERE f.id = src.id)",
        "src allowed flags",
        "t",
        {"a": "src.a"},
    ),
    Query(
        "scalar subquery",
        "postgres",
        "CREATE TABLE t AS SELECT s.a, (SELECT max(r.rate) FROM rates r WHERE r.cur = s.cur) AS rate FROM src s",
        "src rates",
        "t",
        {"a": "src.a", "rate": "rates.rate"},
    ),
    Query(
        "union",
        "postgres",
        "CREATE TABLE everyone AS SELECT id, name FROM staff UNION ALL SELECT guest_id, full_name FROM guests",
        "staff guests",
        "everyone",
        {"id": "staff.id guests.guest_id", "name": "staff.name guests.full_name"},
    ),
    Query(
        "case and coalesce",
        "postgres",
        "CREATE TABLE t AS SELECT CASE WHEN s.kind = 'x' THEN s.a ELSE s.b END AS v, coalesce(s.c, s.d, 0) AS w FROM s",
        "s",
        "t",
        {"v": "s.kind s.a s.b", "w": "s.c s.d"},
    ),
    Query(
        "window",
        "postgres",
        """CREATE TABLE ranked AS SELECT id, row_number() OVER (PARTITION BY customer ORDER BY at) AS n,
           sum(amount) OVER (PARTITION BY customer) AS total FROM orders""",
        "orders",
        "ranked",
        {"id": "orders.id", "n": "orders.customer orders.at", "total": "orders.amount orders.customer"},
    ),
    Query(
        "star with known columns",
        "postgres",
        "CREATE TABLE copy AS SELECT * FROM src",
        "src",
        "copy",
        {"a": "src.a", "b": "src.b"},
        {"src": ["a", "b"]},
    ),
    Query(
        "star of a subquery",
        "postgres",
        "CREATE TABLE t AS SELECT * FROM (SELECT a, b + 1 AS b1 FROM src) x",
        "src",
        "t",
        {"a": "src.a", "b1": "src.b"},
    ),
    Query(
        "unqualified columns of a join, known",
        "postgres",
        "CREATE TABLE t AS SELECT amount, city FROM orders JOIN customers ON orders.customer_id = customers.id",
        "orders customers",
        "t",
        {"amount": "orders.amount", "city": "customers.city"},
        {"orders": ["id", "customer_id", "amount"], "customers": ["id", "city"]},
    ),
    Query(
        "view",
        "postgres",
        "CREATE OR REPLACE VIEW reporting.v AS SELECT a.id, b.total FROM a JOIN b USING (id)",
        "a b",
        "reporting.v",
        {"id": "a.id", "total": "b.total"},
    ),
    Query(
        "materialized view",
        "postgres",
        "CREATE MATERIALIZED VIEW mv AS SELECT region, avg(price) AS price FROM sales GROUP BY region",
        "sales",
        "mv",
        {"region": "sales.region", "price": "sales.price"},
    ),
    Query(
        "update",
        "postgres",
        "UPDATE products SET price = price * 1.1 WHERE category = 'toys'",
        "",
        "products",
        {"price": "products.price"},
    ),
    Query(
        "update from",
        "postgres",
        "UPDATE products p SET price = n.price, changed = now() FROM new_prices n WHERE n.id = p.id",
        "new_prices",
        "products",
        {"price": "new_prices.price", "changed": ""},
    ),
    Query(
        "update with subquery",
        "postgres",
        "UPDATE t SET total = (SELECT sum(l.amount) FROM lines l WHERE l.t_id = t.id)",
        "lines",
        "t",
        {"total": "lines.amount"},
    ),
    Query("delete", "postgres", "DELETE FROM t WHERE id IN (SELECT id FROM gone)", "gone", "t"),
    Query("delete using", "postgres", "DELETE FROM t USING gone g WHERE g.id = t.id", "gone", "t"),
    Query("truncate", "postgres", "TRUNCATE TABLE staging.orders", "", "staging.orders"),
    Query(
        "merge",
        "postgres",
        """MERGE INTO target t USING source s ON t.id = s.id
           WHEN MATCHED THEN UPDATE SET value = s.value
           WHEN NOT MATCHED THEN INSERT (id, value) VALUES (s.id, s.value)""",
        "source",
        "target",
        {"id": "source.id", "value": "source.value"},
    ),
    Query(
        "merge with subquery",
        "snowflake",
        """MERGE INTO dim_customer d USING (SELECT id, trim(name) AS name FROM raw.customer) s ON d.id = s.id
           WHEN MATCHED THEN UPDATE SET d.name = s.name
           WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)""",
        "raw.customer",
        "dim_customer",
        {"id": "raw.customer.id", "name": "raw.customer.name"},
    ),
    Query(
        "insert values",
        "postgres",
        "INSERT INTO t (a, b) VALUES (1, 'x'), (2, 'y')",
        "",
        "t",
        {"a": "", "b": ""},
    ),
    Query(
        "insert on conflict",
        "postgres",
        """INSERT INTO t (id, n) SELECT id, n FROM src
           ON CONFLICT (id) DO UPDATE SET n = excluded.n""",
        "src",
        "t",
        {"id": "src.id", "n": "src.n"},
    ),
    Query(
        "lateral",
        "postgres",
        "CREATE TABLE t AS SELECT o.id, l.last_at FROM orders o CROSS JOIN LATERAL (SELECT max(e.at) AS last_at FROM events e WHERE e.order_id = o.id) l",
        "orders events",
        "t",
        {"id": "orders.id", "last_at": "events.at"},
    ),
    Query(
        "quoted names",
        "postgres",
        'INSERT INTO "Sales"."Order Lines" SELECT "Id", "Unit Price" AS price FROM "Raw"."Lines"',
        "Raw.Lines",
        "Sales.Order Lines",
        {"Id": "Raw.Lines.Id", "price": "Raw.Lines.Unit Price"},
    ),
    Query(
        "temporary table in a script",
        "postgres",
        """CREATE TEMPORARY TABLE tmp AS SELECT id, amount FROM orders;
           INSERT INTO totals SELECT id, sum(amount) AS total FROM tmp GROUP BY id;
           DROP TABLE tmp;""",
        "orders",
        "totals",
        {"id": "orders.id", "total": "orders.amount"},
    ),
    Query(
        "two steps of a script",
        "postgres",
        """DELETE FROM stage; INSERT INTO stage SELECT id FROM raw; INSERT INTO final SELECT id FROM stage;""",
        "raw",
        "stage final",
        {"id": "raw.id stage.id"},
    ),
    Query(
        "filter clause and cast",
        "postgres",
        "CREATE TABLE t AS SELECT count(*) FILTER (WHERE s.ok) AS good, s.amount::numeric(10, 2) AS amount FROM s GROUP BY s.amount",
        "s",
        "t",
        {"good": "s.ok", "amount": "s.amount"},
    ),
    Query(
        "distinct on",
        "postgres",
        "CREATE TABLE latest AS SELECT DISTINCT ON (device) device, reading FROM readings ORDER BY device, at DESC",
        "readings",
        "latest",
        {"device": "readings.device", "reading": "readings.reading"},
    ),
    Query(
        "json operators",
        "postgres",
        "CREATE TABLE t AS SELECT payload ->> 'id' AS id, (payload -> 'user') ->> 'name' AS name FROM events",
        "events",
        "t",
        {"id": "events.payload", "name": "events.payload"},
    ),
    Query(
        "select into",
        "tsql",
        "SELECT id, name INTO archive FROM customers",
        "customers",
        "archive",
        {"id": "customers.id", "name": "customers.name"},
    ),
    Query(
        "top and brackets",
        "tsql",
        "INSERT INTO [dbo].[Top Orders] SELECT TOP 10 [o].[Id], [o].[Amount] FROM [dbo].[Orders] AS [o] WITH (NOLOCK) ORDER BY [o].[Amount] DESC",
        "dbo.Orders",
        "dbo.Top Orders",
        {"Id": "dbo.Orders.Id", "Amount": "dbo.Orders.Amount"},
    ),
    Query(
        "cross apply",
        "tsql",
        "INSERT INTO t SELECT o.id, x.line FROM orders o CROSS APPLY (SELECT l.line FROM lines l WHERE l.order_id = o.id) x",
        "orders lines",
        "t",
        {"id": "orders.id", "line": "lines.line"},
    ),
    Query(
        "bigquery names and except",
        "bigquery",
        "CREATE OR REPLACE TABLE `proj.mart.daily` AS SELECT * EXCEPT (secret) FROM `proj.raw.events`",
        "proj.raw.events",
        "proj.mart.daily",
        {"id": "proj.raw.events.id", "at": "proj.raw.events.at"},
        {"proj.raw.events": ["id", "at", "secret"]},
    ),
    Query(
        "bigquery unnest",
        "bigquery",
        "INSERT INTO mart.items (order_id, sku) SELECT o.id, item.sku FROM raw.orders o, UNNEST(o.items) AS item",
        "raw.orders",
        "mart.items",
        {"order_id": "raw.orders.id", "sku": "raw.orders.items"},
    ),
    Query(
        "spark insert overwrite",
        "spark",
        "INSERT OVERWRITE TABLE mart.sales PARTITION (day = '2026-11-20') SELECT id, amount FROM raw.sales",
        "raw.sales",
        "mart.sales",
        {"id": "raw.sales.id", "amount": "raw.sales.amount"},
    ),
    Query(
        "spark explode",
        "spark",
        "CREATE TABLE t AS SELECT o.id, item FROM orders o LATERAL VIEW explode(o.items) e AS item",
        "orders",
        "t",
        {"id": "orders.id", "item": "orders.items"},
    ),
    Query(
        "snowflake qualify",
        "snowflake",
        "CREATE OR REPLACE TABLE t AS SELECT id, v FROM src QUALIFY row_number() OVER (PARTITION BY id ORDER BY at DESC) = 1",
        "src",
        "t",
        {"id": "src.id", "v": "src.v"},
    ),
    Query(
        "snowflake copy",
        "snowflake",
        "COPY INTO raw.orders FROM @stage/orders/ FILE_FORMAT = (TYPE = CSV)",
        "@stage/orders/",
        "raw.orders",
    ),
    Query(
        "mysql insert",
        "mysql",
        "INSERT IGNORE INTO `archive`.`orders` (`id`, `total`) SELECT `o`.`id`, `o`.`price` * `o`.`qty` FROM `shop`.`orders` AS `o`",
        "shop.orders",
        "archive.orders",
        {"id": "shop.orders.id", "total": "shop.orders.price shop.orders.qty"},
    ),
    Query(
        "sqlite insert or replace",
        "sqlite",
        "INSERT OR REPLACE INTO t SELECT s.id, upper(s.name) || '!' AS shout FROM s",
        "s",
        "t",
        {"id": "s.id", "shout": "s.name"},
    ),
]
