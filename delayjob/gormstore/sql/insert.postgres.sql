-- Inserts jobs, unless one is there under a newer or the same version. A deleted one is not there.
-- Parameters: $1 a JSON array of arrays in the order of the columns, instants as text.
-- The condition holds for every row. It is for the planner, which takes the array for 100 rows and
-- would read the whole table to join it with them. With it, it expects one row and uses the primary key.
-- Result: topic, id, revision, fresh (it was not there) of each job that is stored now.
-- Index: the primary key.
INSERT INTO delay_jobs (topic, id, version, revision, due_at, body, ttr_ms, ttl_ms, max_attempts, expires_at, state, attempts,
    last_error, created_at, updated_at)
SELECT value->>0, value->>1, CAST(value->>2 AS bigint), CAST(value->>3 AS bigint), CAST(value->>4 AS timestamptz), value->>5, CAST(value->>6 AS bigint), CAST(value->>7 AS bigint),
    CAST(value->>8 AS bigint), CAST(value->>9 AS timestamptz), 'pending', 0, '', CAST(value->>10 AS timestamptz), CAST(value->>10 AS timestamptz)
FROM jsonb_array_elements(CAST($1 AS jsonb)) WHERE jsonb_typeof(value) = 'array'
ON CONFLICT (topic, id) DO UPDATE SET version = excluded.version,
    revision = CASE WHEN excluded.revision > delay_jobs.revision THEN excluded.revision ELSE delay_jobs.revision + 1 END,
    due_at = excluded.due_at, body = excluded.body, ttr_ms = excluded.ttr_ms, ttl_ms = excluded.ttl_ms,
    max_attempts = excluded.max_attempts, expires_at = excluded.expires_at, state = 'pending', attempts = 0, last_error = '',
    lease_token = NULL, lease_until = NULL, updated_at = excluded.updated_at,
    created_at = CASE WHEN delay_jobs.state = 'deleted' THEN excluded.created_at ELSE delay_jobs.created_at END
WHERE delay_jobs.version < excluded.version OR delay_jobs.state = 'deleted'
RETURNING topic, id, revision, created_at = updated_at AS fresh
