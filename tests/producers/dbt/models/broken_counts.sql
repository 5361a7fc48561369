{{ config(enabled = var('with_broken', false)) }}
select nest, cast(species as integer) as species_number from {{ ref('clean_clutches') }}
