-- Returns jobs by their keys.
-- Parameters: $1 keys, a JSON array of arrays: topic, id.
-- The condition holds for every row. It is for the planner, which takes the array for 100 rows and
-- would read the whole table to join it with them. With it, it expects one row and uses the primary key.
-- Index: the primary key.
SELECT j.*
FROM (SELECT DISTINCT value->>0 AS topic, value->>1 AS id FROM jsonb_array_elements(CAST($1 AS jsonb)) WHERE jsonb_typeof(value) = 'array') AS x
    JOIN delay_jobs AS j ON j.topic = x.topic AND j.id = x.id
