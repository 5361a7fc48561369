{{ config(enabled = var('with_broken', false)) }}
select count(*) as nests from {{ ref('broken_counts') }}
