-- Returns jobs by their keys, and locks them until the transaction ends. All who lock several jobs do
-- it by the bytes of their keys, in which order inserts have them too.
-- Parameters: $1 keys, a JSON array of arrays: topic, id.
-- The condition holds for every row. It is for the planner, which takes the array for 100 rows and
-- would read the whole table to join it with them. With it, it expects one row and uses the primary key.
-- Index: the primary key.
SELECT j.topic, j.id, j.version, j.revision, j.due_at, j.body, j.ttr_ms, j.ttl_ms, j.max_attempts, j.expires_at,
    j.state, j.attempts, j.last_error, j.lease_token, j.lease_until, j.created_at, j.updated_at
FROM (SELECT DISTINCT value->>0 AS topic, value->>1 AS id FROM jsonb_array_elements(CAST($1 AS jsonb)) WHERE jsonb_typeof(value) = 'array') AS x
    JOIN delay_jobs AS j ON j.topic = x.topic AND j.id = x.id
ORDER BY j.topic COLLATE "C", j.id COLLATE "C"
FOR UPDATE OF j
