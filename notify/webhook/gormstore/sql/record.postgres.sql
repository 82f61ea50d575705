-- Records what became of deliveries.
-- Parameters: $1 a JSON array of objects with the columns of x.
-- Index: the primary key.
-- The extra list of IDs makes the planner look up each row by ID.
UPDATE webhook_deliveries AS d
SET state = x.state, attempts = x.attempts, due_at = x.due_at, expires_at = x.expires_at, status = x.status,
    last_error = x.last_error, updated_at = x.updated_at, delivered_at = x.delivered_at
FROM jsonb_to_recordset(CAST($1 AS jsonb)) AS x (id bigint, version bigint, state text, attempts int, due_at timestamptz,
    expires_at timestamptz, status int, last_error text, updated_at timestamptz, delivered_at timestamptz)
WHERE d.id = x.id AND d.version = x.version AND d.state <> 'delivered'
    AND d.id = ANY (ARRAY(SELECT CAST(value->>'id' AS bigint) FROM jsonb_array_elements(CAST($1 AS jsonb))))
