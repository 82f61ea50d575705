-- Returns jobs by their keys.
-- Parameters: $1 keys, a JSON array of arrays: topic, id.
-- Index: the primary key.
SELECT j.*
FROM (SELECT DISTINCT value->>0 AS topic, value->>1 AS id FROM json_each($1) WHERE true) AS x
    JOIN delay_jobs AS j ON j.topic = x.topic AND j.id = x.id
