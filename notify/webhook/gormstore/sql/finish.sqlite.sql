-- Records leading deliveries as delivered, except those that were recorded since.
-- Parameters: $1 a JSON array of objects with the columns of x, times in microseconds, $2 now.
-- Index: the primary key.
UPDATE webhook_deliveries AS d
SET state = 'delivered', updated_at = $2
FROM (SELECT value->>'id' AS id, value->>'version' AS version, value->>'updated_at' AS updated_at FROM json_each($1)) AS x
WHERE d.id = x.id AND d.version = x.version AND d.updated_at = x.updated_at AND d.state <> 'delivered'
