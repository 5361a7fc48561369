select nest, species, eggs from {{ ref('clutches') }}
