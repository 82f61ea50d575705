-- Returns, for each of some deliveries that is still as it was recorded and has nothing before it, those
-- that follow it at its webhook and of its meeting. Dead letters do not count.
-- Parameters: $1 job, $2 a JSON array of objects with the columns of x, $3 how many to return of each.
-- Result: rows with nth of x, by ID.
-- Index: the primary key, webhook_deliveries_line.
-- The extra list of IDs makes the planner look up each row by ID.
SELECT p.id, p.webhook_id, p.event_id, p.meeting_id, p.event, p.state, p.due_at, p.expires_at, p.attempts,
    p.status, p.last_error, p.delivered_at, p.version, p.created_at, p.updated_at, x.nth
FROM jsonb_to_recordset(CAST($2 AS jsonb)) AS x (nth int, id bigint, version bigint, updated_at timestamptz)
JOIN webhook_deliveries f ON f.id = x.id AND f.version = x.version AND f.updated_at = x.updated_at AND f.state = 'pending' AND f.meeting_id <> 0
    AND f.id = ANY (ARRAY(SELECT CAST(value->>'id' AS bigint) FROM jsonb_array_elements(CAST($2 AS jsonb))))
CROSS JOIN LATERAL (SELECT p.id, p.webhook_id, p.event_id, p.meeting_id, p.event, p.state, p.due_at, p.expires_at, p.attempts,
        p.status, p.last_error, p.delivered_at, p.version, p.created_at, p.updated_at FROM webhook_deliveries p
    WHERE p.webhook_id = f.webhook_id AND p.meeting_id = f.meeting_id AND p.state = 'pending' AND p.id > f.id
        AND NOT EXISTS (SELECT 1 FROM job_failures d WHERE d.job = $1 AND d.key = CAST(p.id AS text) AND d.version >= p.version)
    ORDER BY p.id
    LIMIT $3) AS p
WHERE NOT EXISTS (SELECT 1 FROM webhook_deliveries q
    WHERE q.webhook_id = f.webhook_id AND q.meeting_id = f.meeting_id AND q.state = 'pending' AND q.id < f.id
        AND NOT EXISTS (SELECT 1 FROM job_failures d WHERE d.job = $1 AND d.key = CAST(q.id AS text) AND d.version >= q.version))
ORDER BY p.id
