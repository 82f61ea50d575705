-- Saves jobs.
-- Parameters: $1 a JSON array of arrays in the order of x, instants in microseconds.
-- Index: the primary key.
UPDATE delay_jobs AS j
SET revision = x.revision, due_at = x.due_at, expires_at = x.expires_at, state = x.state, attempts = x.attempts,
    last_error = x.last_error, lease_token = x.token, lease_until = x.until, updated_at = x.updated_at
FROM (SELECT value->>0 AS topic, value->>1 AS id, CAST(value->>2 AS bigint) AS revision, CAST(value->>3 AS bigint) AS due_at,
        CAST(value->>4 AS bigint) AS expires_at, value->>5 AS state, CAST(value->>6 AS bigint) AS attempts, value->>7 AS last_error,
        CAST(value->>8 AS bigint) AS token, CAST(value->>9 AS bigint) AS until, CAST(value->>10 AS bigint) AS updated_at
    FROM json_each($1) WHERE true) AS x
WHERE j.topic = x.topic AND j.id = x.id
