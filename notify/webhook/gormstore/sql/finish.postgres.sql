-- Records leading deliveries as delivered, except those that were recorded since.
-- Parameters: $1 a JSON array of objects with the columns of x, $2 now.
-- Index: the primary key.
-- The extra list of IDs makes the planner look up each row by ID.
UPDATE webhook_deliveries AS d
SET state = 'delivered', updated_at = $2
FROM jsonb_to_recordset(CAST($1 AS jsonb)) AS x (id bigint, version bigint, updated_at timestamptz)
WHERE d.id = x.id AND d.version = x.version AND d.updated_at = x.updated_at AND d.state <> 'delivered'
    AND d.id = ANY (ARRAY(SELECT CAST(value->>'id' AS bigint) FROM jsonb_array_elements(CAST($1 AS jsonb))))
