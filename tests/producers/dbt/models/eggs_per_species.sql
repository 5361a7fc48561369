select species, sum(eggs) as eggs from {{ ref('clean_clutches') }} group by species
