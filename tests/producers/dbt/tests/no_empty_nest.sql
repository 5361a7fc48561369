-- fails: the heron's nest was not counted
select nest from {{ ref('clean_clutches') }} where eggs is null
