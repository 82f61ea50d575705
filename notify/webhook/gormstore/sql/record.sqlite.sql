-- Records what became of deliveries.
-- Parameters: $1 a JSON array of objects with the columns of x, times in microseconds.
-- Index: the primary key.
UPDATE webhook_deliveries AS d
SET state = x.state, attempts = x.attempts, due_at = x.due_at, expires_at = x.expires_at, status = x.status,
    last_error = x.last_error, updated_at = x.updated_at, delivered_at = x.delivered_at
FROM (SELECT value->>'id' AS id, value->>'version' AS version, value->>'state' AS state, value->>'attempts' AS attempts,
        value->>'due_at' AS due_at, value->>'expires_at' AS expires_at, value->>'status' AS status, value->>'last_error' AS last_error,
        value->>'updated_at' AS updated_at, value->>'delivered_at' AS delivered_at
    FROM json_each($1)) AS x
WHERE d.id = x.id AND d.version = x.version AND d.state <> 'delivered'
