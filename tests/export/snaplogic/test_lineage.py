"""Columns and their origins through every kind of Snap, on the samples."""

from __future__ import annotations

from lineagelog.export.snaplogic import Nested

from .support import columns, datasets, event, export, lineage, rows


def test_a_select_has_the_columns_that_its_successors_use() -> None:
    """No output fields are listed, so what the Mapper reads, and nothing else, is read from the table."""
    read = event(export("join"), "Orders")
    assert datasets(read["inputs"]) == ["Postgres | shopdb.public.orders"]
    assert columns(read["inputs"][0]) == ["customer_id", "id", "net", "tax"]
    assert lineage(read["outputs"][0])["tax"] == (["shopdb.public.orders.tax"], "Mapping")


def test_a_mapper_without_pass_through_puts_out_the_mapped_columns_only() -> None:
    """Operators and functions are named; methods are no fields."""
    exported = export("join")
    assert lineage(event(exported, "Order: shape")["outputs"][0]) == {
        "customer_id": (["Orders.customer_id"], "Mapping"),
        "gross": (["Orders.net", "Orders.tax"], "+"),
        "id": (["Orders.id"], "Mapping"),
    }
    country = lineage(event(exported, "Customer")["outputs"][0])["country"]
    assert country == (["Customers.country"], "trim, toUpperCase")


def test_a_mapper_with_pass_through_keeps_the_rest_and_drops_what_is_deleted() -> None:
    """An empty target deletes its source; a literal is a column without origin and description."""
    found = lineage(event(export("files"), "Shape")["outputs"][0])
    assert found == {
        "amount": (["Parse.price", "Parse.rate"], "*"),
        "currency": ([], ""),
        "price": (["Parse.price"], "Mapping"),
        "rate": (["Parse.rate"], "Mapping"),
        "sku": (["Parse.sku"], "Mapping"),
    }


def test_columns_go_through_files_parsers_and_formatters() -> None:
    """What is used behind the parser is read from the file; what reaches the writer is written."""
    exported = export("files")
    read, write = event(exported, "Read prices"), event(exported, "Write")
    assert datasets(read["inputs"]) == ["file | /data/in/2026-02-03.csv"]
    assert columns(read["inputs"][0]) == ["price", "rate", "sku"]
    assert datasets(write["outputs"]) == ["S3 | lake/prices/day.json"]
    assert columns(write["outputs"][0]) == ["amount", "currency", "price", "rate", "sku"]


def test_a_join_keeps_left_names_and_prefixes_a_right_name_that_clashes() -> None:
    """The prefix is the label of the right view."""
    joined = event(export("join"), "Join")
    assert datasets(joined["inputs"]) == ["SnapLogic | Order: shape", "SnapLogic | Customer"]
    found = {name: origin for name, (origin, _) in lineage(joined["outputs"][0]).items()}
    assert found == {
        "c_id": ["Customer.id"],
        "country": ["Customer.country"],
        "customer_id": ["Order: shape.customer_id"],
        "gross": ["Order: shape.gross"],
        "id": ["Order: shape.id"],
        "name": ["Customer.name"],
    }


def test_an_aggregate_has_group_columns_and_results() -> None:
    """The function is the description; a count of documents comes from no column."""
    found = lineage(event(export("join"), "By country")["outputs"][0])
    assert found == {
        "country": (["Copy.country"], "Mapping"),
        "gross_total": (["Copy.gross"], "SUM"),
        "orders": ([], ""),
    }


def test_parameters_and_expressions_name_table_and_account() -> None:
    """The table is `_target`, the account a conditional over `_env`; bracketed names work as quoted ones."""
    exported = export("join")
    assert datasets(event(exported, "Load")["outputs"]) == ["Snowflake | ANALYTICS.SALES.ORDERS_BY_COUNTRY"]
    assert datasets(event(exported, "Load raw")["outputs"]) == ["SQL Server | crm.dbo.orders_raw"]


def test_a_router_gives_one_dataset_and_counts_each_document_once() -> None:
    """Branches share the Router's virtual dataset; a Copy's two equal views are not added up."""
    route = event(export("router"), "Route")
    assert datasets(route["outputs"]) == ["SnapLogic | Route"]
    assert rows(route["outputs"][0]) == 100
    assert rows(event(export("join"), "Copy")["outputs"][0]) == 100


def test_a_union_has_all_branches_as_origin() -> None:
    """A column that only some branches have comes from those."""
    found = lineage(event(export("router"), "Unite")["outputs"][0])
    assert found["ID"][0] == ["Mark large.ID", "Mark home.ID", "Mark rest.ID"]
    assert found["KIND"][0] == ["Mark large.KIND", "Mark home.KIND"]


def test_an_error_view_has_its_own_dataset_without_the_output_columns() -> None:
    """It carries error documents, named after the Snap; the password in the file's URL is gone."""
    exported = export("router")
    load, lost = event(exported, "Load"), event(exported, "Keep errors")
    own, table, errors = load["outputs"]
    assert errors["name"] == f"{own['name']} (error0)"
    assert columns(errors) == []
    assert columns(table) == ["AMOUNT", "ID", "KIND"]
    assert (rows(table), rows(errors)) == (97, 3)
    assert datasets(lost["inputs"]) == ["SnapLogic | Load (error0)"]
    assert datasets(lost["outputs"]) == ["SFTP | files.acme.example:2222/errors.json"]


def test_a_writing_snap_hands_its_input_on_under_original() -> None:
    """With whole paths the fields below `original` are told one by one."""
    top, path = event(export("router"), "Load"), event(export("router", nested=Nested.PATH), "Load")
    assert columns(top["outputs"][0]) == ["original"]
    assert lineage(path["outputs"][0])["original.ID"] == (["Unite.ID"], "Mapping")


def test_nested_fields_as_top_level_columns() -> None:
    """As in SnapLogic's own events: nested fields count for the column that they are in."""
    found = lineage(event(export("nested"), "Flatten")["outputs"][0])
    assert found == {
        "all skus": (["Consume.value"], "jsonPath"),
        "lines": (["Consume.value"], "filter"),
        "note": (["Consume.value"], "+"),
        "order": (["Consume.value"], "Mapping, trim"),
    }


def test_nested_fields_with_their_whole_path() -> None:
    """`$` in a text is no reference, `['odd name']` is a step, jsonPath names a field, lambda parameters do
    not."""
    exported = export("nested", nested=Nested.PATH)
    assert lineage(event(exported, "Flatten")["outputs"][0]) == {
        "all skus": (["Consume.value.lines.sku"], "jsonPath"),
        "lines": (["Consume.value.lines"], "filter"),
        "note": (["Consume.value.currency"], "+"),
        "order.city": (["Consume.value.order.ship to.city"], "trim"),
        "order.id": (["Consume.value.order.id"], "Mapping"),
    }
    split = lineage(event(exported, "Split")["outputs"][0])
    assert split["sku"] == (["Flatten.lines"], "Mapping")
    assert split["order.id"] == (["Flatten.order.id"], "Mapping")


def test_a_conditional_comes_from_values_and_conditions() -> None:
    """Two rows for the same target make one column."""
    found = lineage(event(export("nested"), "Size")["outputs"][0])
    assert found["size"] == (["Split.label", "Split.qty"], "conditional, Mapping")


def test_a_child_pipeline_is_fed_and_read_through_its_open_views() -> None:
    """The child's entry reads what the parent feeds, the Pipeline Execute reads what the child's exit puts
    out."""
    exported = export("parent", "child")
    entry, enrich = event(exported, "Entry"), event(exported, "Enrich")
    assert datasets(entry["inputs"]) == ["SnapLogic | Read"]
    assert datasets(enrich["inputs"]) == ["SnapLogic | Read", "SnapLogic | Exit"]
    assert lineage(enrich["outputs"][0])["total"] == (["Exit.total"], "Mapping")
    assert columns(event(exported, "Read")["inputs"][0]) == ["net", "order_id", "tariff"]
    assert datasets(event(exported, "Tariffs")["inputs"]) == ["Postgres | shopdb.ref.tariffs"]


def test_children_can_be_kept_separate() -> None:
    """Then only the parent facet ties the two; the parent's side is as if it were exported alone."""
    apart = export("parent", "child", separate_children=True)
    assert event(apart, "Entry")["inputs"] == []
    assert event(apart, "Enrich") == event(export("parent"), "Enrich")


def test_a_parent_alone_has_a_pipeline_execute_without_traceable_columns() -> None:
    """Without the child's run its columns are those that are used, and come from nowhere."""
    enrich = event(export("parent"), "Enrich")
    assert datasets(enrich["inputs"]) == ["SnapLogic | Read"]
    assert lineage(enrich["outputs"][0]) == {"order_id": ([], ""), "total": ([], "")}


def test_scripts_and_unknown_classes_have_input_and_output_but_no_lineage() -> None:
    """What successors use of a Script is listed without origin; a finding names the unknown class."""
    exported = export("artifact")
    script = event(exported, "Script")
    assert (datasets(script["inputs"]), datasets(script["outputs"])) == (
        ["SnapLogic | Query"],
        ["SnapLogic | Script"],
    )
    assert lineage(script["outputs"][0]) == {"mail": ([], "")}
    assert any("com-snaplogic-snaps-acme-magic" in finding.message for finding in exported.findings)


def test_an_execute_reads_the_tables_of_its_statement() -> None:
    """A plain SELECT list tells the columns, aliases included."""
    query = event(export("artifact"), "Query")
    assert datasets(query["inputs"]) == ["SQL Server | crm.dbo.contacts"]
    assert lineage(query["outputs"][0])["mail"] == (["crm.dbo.contacts.email"], "Mapping")


def test_forty_snaps_lead_every_table_to_both_loads() -> None:
    """Followed from load to table, the total depends on all eight tables and the generated rate on none."""
    exported = export("forty")
    assert len(exported.events) == 40
    assert _sources(exported.events, "NARROW", "TOTAL") == {f"shopdb.public.part_{at}.v{at}" for at in range(8)}
    assert _sources(exported.events, "NARROW", "RATE") == set()
    assert _sources(exported.events, "WIDE", "r1_key") == {f"shopdb.public.part_{at}.key" for at in (2, 3)}


def _sources(events: tuple[dict, ...], table: str, column: str) -> set[str]:
    """The table columns that a column of a written table comes from, through all virtual datasets."""
    made = {}
    for item in events:
        for dataset in item["outputs"]:
            for name, origin in dataset["facets"].get("columnLineage", {}).get("fields", {}).items():
                made[dataset["name"], name] = [(field["name"], field["field"]) for field in origin["inputFields"]]
    todo = [key for key in made if key[0].endswith(f".{table}") and key[1] == column]
    assert todo, f"no column {column} in {table}"
    found = set()
    while todo:
        key = todo.pop()
        if key in made:
            todo += made[key]
        else:
            found.add(".".join(key))
    return found
