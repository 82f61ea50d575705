-- Returns, for each of some deliveries that is still as it was recorded and has nothing before it, those
-- that follow it at its webhook and of its meeting. Dead letters do not count.
-- Parameters: $1 job, $2 a JSON array of objects with the columns of x, times in microseconds, $3 how many
-- to return of each.
-- Result: rows with nth of x, by ID.
-- Index: the primary key, webhook_deliveries_line.
SELECT p.id, p.webhook_id, p.event_id, p.meeting_id, p.event, p.state, p.due_at, p.expires_at, p.attempts,
    p.status, p.last_error, p.delivered_at, p.version, p.created_at, p.updated_at, x.nth
FROM (SELECT value->>'nth' AS nth, value->>'id' AS id, value->>'version' AS version, value->>'updated_at' AS updated_at FROM json_each($2)) AS x
JOIN webhook_deliveries f ON f.id = x.id AND f.version = x.version AND f.updated_at = x.updated_at AND f.state = 'pending' AND f.meeting_id <> 0
JOIN webhook_deliveries p ON p.id IN (SELECT n.id FROM webhook_deliveries n
    WHERE n.webhook_id = f.webhook_id AND n.meeting_id = f.meeting_id AND n.meeting_id <> 0 AND n.state = 'pending' AND n.id > f.id
        AND NOT EXISTS (SELECT 1 FROM job_failures d WHERE d.job = $1 AND d.key = CAST(n.id AS text) AND d.version >= n.version)
    ORDER BY n.id
    LIMIT $3)
WHERE NOT EXISTS (SELECT 1 FROM webhook_deliveries q
    WHERE q.webhook_id = f.webhook_id AND q.meeting_id = f.meeting_id AND q.meeting_id <> 0 AND q.state = 'pending' AND q.id < f.id
        AND NOT EXISTS (SELECT 1 FROM job_failures d WHERE d.job = $1 AND d.key = CAST(q.id AS text) AND d.version >= q.version))
ORDER BY p.id
