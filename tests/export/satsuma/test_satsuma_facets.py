"""The facets: what schemas and mappings say about themselves, and nothing that the spec does not say."""

from __future__ import annotations

from typing import Any

import pytest

from .support import Exports, content, run_export


def target(head: str, body: str = "k INT", extra: str = "") -> Exports:
    """Export one mapping into a schema `t` with this metadata and body."""
    return run_export(
        f"schema s {{ x INT }}\nschema t {head} {{ {body} }}\n{extra}\n"
        "mapping m { source { s } target { t } x -> k }"
    )


def modelling(head: str, body: str = "k INT", name: str = "t") -> dict[str, Any]:
    """The modelling facet of the target schema."""
    made = run_export(
        f"schema s {{ x INT }}\nschema {name} {head} {{ {body} }}\nmapping m {{ source {{ s }} target {{ {name} }} }}"
    )
    return content(made.dataset(name)["satsuma_modelling"])


def test_a_plain_schema_has_its_columns_and_nothing_else() -> None:
    """No note, no owner, no token: the schema facet alone, with a description only where there is a note."""
    made = target(
        "",
        'k INT (note "The key")\n plain list_of STRING\n r record { a INT l list_of record { b INT } }\n bare (pk)',
    )
    assert list(made.dataset("s")) == ["schema"]
    assert made.dataset("t")["schema"]["fields"] == [
        {"name": "k", "type": "INT", "description": "The key"},
        {"name": "plain", "type": "ARRAY<STRING>"},
        {"name": "r.a", "type": "INT"},
        {"name": "r.l.b", "type": "INT"},
        {"name": "bare"},
    ]


def test_documentation_of_schemas() -> None:
    """The note in the metadata, else the note block of the body; several lines are Markdown."""
    made = run_export(
        '''
        schema a (note "One line") { x INT note { "not this" } }
        schema b { y INT note { """
          # Title
          - item
            - indented
        """ } }
        mapping m { source { a } target { b } }
        '''
    )
    assert content(made.dataset("a")["documentation"]) == {"description": "One line"}
    assert content(made.dataset("b")["documentation"]) == {
        "description": "# Title\n- item\n  - indented",
        "contentType": "text/markdown",
    }


@pytest.mark.parametrize(
    ("head", "body", "description"),
    [
        ('(note "From metadata")', 'note { "From a block" }', "From a block"),
        ('(note "From metadata")', "", "From metadata"),
        ("", 'note { "One." } note { "Two." }', "One.\n\nTwo."),
        ("", "", None),
    ],
)
def test_documentation_of_mappings(head: str, body: str, description: str | None) -> None:
    """The note blocks, else the note in the metadata, else nothing."""
    made = run_export(f"schema s {{ x INT }}\nmapping m {head} {{ source {{ s }} target {{ s }} {body} }}")
    assert made.job("m").get("documentation", {}).get("description") == description


def test_owners_are_teams_and_stewards_persons() -> None:
    """Both stand in the ownership facet and in the governance facet."""
    made = target('(steward "Jane Smith", owner {"data platform", crm})')
    assert made.dataset("t")["ownership"]["owners"] == [
        {"name": "data platform", "type": "TEAM"},
        {"name": "crm", "type": "TEAM"},
        {"name": "Jane Smith", "type": "PERSON"},
    ]
    assert content(made.dataset("t")["satsuma_governance"]) == {
        "owner": "data platform, crm",
        "steward": "Jane Smith",
    }


def test_governance_of_schema_and_fields() -> None:
    """Classification, retention, compliance and what fields say; other tokens of the schema ride along."""
    made = target(
        '(classification "RESTRICTED", retention "7y", compliance {GDPR, SOX}, cost_center "CC-1", audited)',
        'k INT (pii, classification "SECRET", retention "3y", encrypt AES-256-GCM, mask last_four)\n'
        " plain INT (pk, required)\n token TEXT (pii, encrypt)",
    )
    assert content(made.dataset("t")["satsuma_governance"]) == {
        "classification": "RESTRICTED",
        "retention": "7y",
        "compliance": ["GDPR", "SOX"],
        "piiFields": ["k", "token"],
        "fieldClassifications": {
            "k": {
                "pii": True,
                "classification": "SECRET",
                "retention": "3y",
                "encrypt": "AES-256-GCM",
                "mask": "last_four",
            },
            "token": {"pii": True, "encrypt": True},
        },
        "otherTokens": {"cost_center": "CC-1", "audited": True},
    }


def test_other_tokens_repeat_nothing_that_has_its_own_key() -> None:
    """What another facet says under its own key is left out; what none says stays."""
    made = target('(owner "x", dimension, conformed, scd 2, natural_key k, track {k}, format parquet, grain daily)')
    assert content(made.dataset("t")["satsuma_governance"])["otherTokens"] == {"format": "parquet", "grain": "daily"}
    made = target('(owner "x", satellite, effectivity, parent hub_a, link_hubs {b})')
    assert content(made.dataset("t")["satsuma_governance"])["otherTokens"] == {"link_hubs": "{b}"}
    made = target('(owner "x", report, tool looker, refresh schedule "daily", source {s}, tier gold)')
    assert content(made.dataset("t")["satsuma_governance"])["otherTokens"] == {"tier": "gold"}


def test_schemas_that_metadata_names_are_dataset_names() -> None:
    """As the datasets themselves are named: found from the namespace, with the naming that was asked for."""
    spec = """
    namespace ref { schema currency { code STRING } schema hub_a (hub, business_key k) { k INT } }
    namespace v {
      schema hub_b (hub, business_key k) { k INT }
      schema f (fact, ref @ref::currency.code, ref hub_b.k) { code STRING }
      schema l (link, link_hubs {ref::hub_a, hub_b}) { k INT }
      schema s (satellite, parent hub_b) { k INT }
      mapping m { source { ref::currency } target { f } code -> code }
      mapping n { source { ref::hub_a, hub_b } target { l } hub_a.k -> k }
      mapping o { source { hub_b } target { s } k -> k }
    }
    """
    for options, prefix in (({}, ""), ({"naming": "database.namespace.schema", "database": "dw"}, "dw.")):
        made = run_export(spec, **options)

        def facet(name: str, made: Exports = made, prefix: str = prefix) -> dict[str, Any]:
            return content(made.dataset(f"{prefix}v.{name}")["satsuma_modelling"])

        assert facet("f")["dimensionRefs"] == [
            {"dimension": f"{prefix}ref.currency", "joinField": "code"},
            {"dimension": f"{prefix}v.hub_b", "joinField": "k"},
        ]
        assert facet("f")["inferredColumns"] == ["currency_key", "hub_b_key", "etl_batch_id", "loaded_at"]
        assert facet("l")["linkHubs"] == [f"{prefix}ref.hub_a", f"{prefix}v.hub_b"]
        assert facet("s")["parent"] == f"{prefix}v.hub_b"


def test_personal_data_of_a_record_is_that_of_its_leaves() -> None:
    """A record marked pii makes all its columns personal; the record keeps its own classification."""
    made = target(
        "",
        "k INT\n home record (pii, classification C) { street TEXT (mask redact)  geo record { lat INT } }",
    )
    governance = content(made.dataset("t")["satsuma_governance"])
    assert governance["piiFields"] == ["home.street", "home.geo.lat"]
    assert governance["fieldClassifications"] == {
        "home": {"pii": True, "classification": "C"},
        "home.street": {"mask": "redact"},
    }


def test_tokens_without_governance_make_no_governance_facet() -> None:
    """A format or a cost centre alone is no governance."""
    assert "satsuma_governance" not in target('(format parquet, cost_center "x")').dataset("t")


def test_a_dimension_of_type_2() -> None:
    """The tokens, and the history columns that are not declared."""
    assert modelling(
        "(dimension, conformed, scd 2, natural_key k, track {a, b}, ignore c)",
        "k INT\n a INT\n b INT\n valid_to DATE",
    ) == {
        "entityType": "dimension",
        "conformed": True,
        "scdType": 2,
        "naturalKey": "k",
        "trackedFields": ["a", "b"],
        "ignoredFields": ["c"],
        "inferredColumns": ["surrogate_key", "valid_from", "is_current", "row_hash"],
    }


def test_implied_columns_are_in_the_schema_and_marked() -> None:
    """They follow the declared and spread columns, typed; one that is spread in is not repeated."""
    made = target("(dimension, scd 2)", "k INT\n ...audit\n", "fragment audit { row_hash TEXT }")
    assert made.dataset("t")["schema"]["fields"][1:] == [
        {"name": "row_hash", "type": "TEXT"},
        *(
            {"name": name, "type": kind, "description": "(inferred from Satsuma metadata)"}
            for name, kind in (
                ("surrogate_key", "BIGINT"),
                ("valid_from", "TIMESTAMPTZ"),
                ("valid_to", "TIMESTAMPTZ"),
                ("is_current", "BOOLEAN"),
            )
        ),
    ]


@pytest.mark.parametrize("scd", ["0", "1", "3"])
def test_dimensions_without_history_imply_nothing(scd: str) -> None:
    """scd 1 overwrites: no columns are added."""
    found = modelling(f"(dimension, scd {scd}, natural_key {{k, j}})")
    assert found == {"entityType": "dimension", "scdType": int(scd), "naturalKey": ["k", "j"]}


def test_a_dimension_of_type_6_has_the_current_values_too() -> None:
    """`current_<tracked>` with the type of the tracked field, beside the columns of type 2."""
    made = target("(dimension, scd 6, track {k, city})", "k INT\n city VARCHAR(9)")
    columns = made.columns("t")
    assert (columns["current_k"], columns["current_city"], columns["surrogate_key"]) == (
        "INT",
        "VARCHAR(9)",
        "BIGINT",
    )


def test_a_fact_with_its_grain_references_and_measures() -> None:
    """References with or without `@` and namespace; a dimension referred to twice gives one key column."""
    assert modelling(
        "(fact, grain {k, n}, ref @dim_customer.customer_id, ref dim_date.ordered, ref dim_date.shipped,\n"
        " ref mart::dim_product.sku, snapshot periodic)",
        "k INT\n n INT\n amount INT (required, measure additive)\n price INT (measure non_additive)\n loaded_at DATE",
    ) == {
        "entityType": "fact",
        "grain": ["k", "n"],
        "dimensionRefs": [
            {"dimension": "dim_customer", "joinField": "customer_id"},
            {"dimension": "dim_date", "joinField": "ordered"},
            {"dimension": "dim_date", "joinField": "shipped"},
            {"dimension": "mart.dim_product", "joinField": "sku"},
        ],
        "snapshot": "periodic",
        "measures": {"amount": "additive", "price": "non_additive"},
        "inferredColumns": ["dim_customer_key", "dim_date_key", "dim_product_key", "etl_batch_id"],
    }


def test_a_hub() -> None:
    """The business key and the three columns of a hub."""
    assert modelling("(hub, business_key k)", name="hub_customer") == {
        "entityType": "hub",
        "businessKey": "k",
        "inferredColumns": ["hub_customer_hk", "load_date", "record_source"],
    }


def test_a_satellite_and_an_effectivity_satellite() -> None:
    """The parent's hash key, the load columns, and for effectivity the time that a relationship holds."""
    load = ["load_date", "load_end_date", "hash_diff", "record_source"]
    assert modelling("(satellite, parent hub_customer, scd 2)") == {
        "entityType": "satellite",
        "parent": "hub_customer",
        "scdType": 2,
        "inferredColumns": ["hub_customer_hk", *load],
    }
    assert modelling("(satellite, effectivity, parent v::link_sale, driving_key hub_product)", "") == {
        "entityType": "satellite",
        "parent": "v.link_sale",
        "effectivity": True,
        "drivingKey": "hub_product",
        "inferredColumns": ["link_sale_hk", *load, "start_date", "end_date", "is_current"],
    }


def test_a_link() -> None:
    """Its own hash key and one per hub."""
    assert modelling("(link, link_hubs {hub_customer, hub_product})", name="link_sale") == {
        "entityType": "link",
        "linkHubs": ["hub_customer", "hub_product"],
        "inferredColumns": [
            "link_sale_hk",
            "hub_customer_hk",
            "hub_product_hk",
            "load_date",
            "record_source",
        ],
    }


def test_names_like_modelling_words_are_no_modelling() -> None:
    """A value behind the word is another thing, and a metric's measures are no fact."""
    assert "satsuma_modelling" not in target(
        '(link "https://example.org", metric, grain daily)', "k INT (measure)"
    ).dataset("t")


@pytest.mark.parametrize(
    ("head", "facet"),
    [
        (
            "(merge upsert, match_on k)",
            {"strategy": "upsert", "matchOn": ["k"], "onMatch": "update", "onNoMatch": "insert"},
        ),
        (
            "(merge upsert, match_on {k, j}, on_match skip, on_no_match error)",
            {"strategy": "upsert", "matchOn": ["k", "j"], "onMatch": "skip", "onNoMatch": "error"},
        ),
        ("(merge append)", {"strategy": "append"}),
        (
            "(merge soft_delete, match_on k, delete_flag gone, delete_timestamp gone_at)",
            {"strategy": "soft_delete", "matchOn": ["k"], "deleteFlag": "gone", "deleteTimestamp": "gone_at"},
        ),
        ("(merge full_refresh)", {"strategy": "full_refresh"}),
        ("(match_on k)", None),
    ],
)
def test_merge_strategies(head: str, facet: dict[str, Any] | None) -> None:
    """Defaults only for an upsert, and no facet without a merge token."""
    made = run_export(f"schema s {{ k INT }}\nmapping m {head} {{ source {{ s }} target {{ s }} k -> k }}")
    found = made.job("m").get("satsuma_mergeStrategy")
    assert (found and content(found)) == facet


def test_the_job_type_is_always_there() -> None:
    """BATCH, SATSUMA, TASK."""
    assert content(target("").job("m")["jobType"]) == {
        "processingType": "BATCH",
        "integration": "SATSUMA",
        "jobType": "TASK",
    }


def test_warnings_and_questions() -> None:
    """On the dataset, with the field on whose line they stand; on the job for those in a mapping."""
    made = run_export(
        """
        //! of nobody
        schema s { //! of the schema
          x INT  //!   of x
          r record { y INT  //? of y
          }
          z INT (
            note "n"
          )  //! of z
        }
        fragment f { w INT  //! of w, wherever it is spread
          v INT
          //! of the fragment alone
        }
        schema t { k INT
          ...f
        } //! behind the schema
        mapping m { source { s } target { t }
          //? of the mapping
          x -> k  //! of the arrow
        }
        """
    )
    assert made.dataset("s")["satsuma_warnings"]["warnings"] == [
        {"type": "data_quality", "message": "of the schema"},
        {"type": "data_quality", "message": "of x", "field": "x"},
        {"type": "open_question", "message": "of y", "field": "r.y"},
        {"type": "data_quality", "message": "of z", "field": "z"},
    ]
    assert made.dataset("t")["satsuma_warnings"]["warnings"] == [
        {"type": "data_quality", "message": "of w, wherever it is spread", "field": "w"}
    ]
    assert made.job("m")["satsuma_warnings"]["warnings"] == [
        {"type": "open_question", "message": "of the mapping"},
        {"type": "data_quality", "message": "of the arrow", "field": "k"},
    ]


def test_consumers_say_where_they_live() -> None:
    """Reports, models and metrics; the schedule loses its word and quotes."""
    made = run_export(
        """
        schema s { x INT }
        schema board (
          report, source {s}, tool looker, dashboard_id "w-1", refresh schedule "Monday 06:00 UTC"
        ) { v INT }
        schema churn (model, source s, registry mlflow, experiment "churn-v3") { p INT }
        schema mrr (
          metric, metric_name "MRR", source s, grain monthly, slice {region}, filter "a = 1"
        ) { v INT }
        mapping m { source { s } target { mrr } x -> v }
        """
    )
    assert content(made.dataset("board")["satsuma_consumer"]) == {
        "consumerType": "report",
        "tool": "looker",
        "dashboardId": "w-1",
        "refreshSchedule": "Monday 06:00 UTC",
    }
    assert content(made.dataset("churn")["satsuma_consumer"]) == {
        "consumerType": "model",
        "registry": "mlflow",
        "experiment": "churn-v3",
    }
    assert content(made.dataset("mrr")["satsuma_consumer"]) == {
        "consumerType": "metric",
        "metricName": "MRR",
        "grain": "monthly",
        "filter": "a = 1",
        "slices": ["region"],
    }
