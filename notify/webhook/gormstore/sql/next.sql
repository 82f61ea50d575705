-- Returns the deliveries that follow the first one of a webhook and meeting, if that one is still as it
-- was recorded and nothing is before it. Dead letters do not count.
-- Parameters: $1 webhook, $2 meeting, $3 job, $4 ID, $5 version and $6 updated_at of the first one, $7 limit.
-- Result: rows by ID.
-- Index: webhook_deliveries_line.
SELECT p.id, p.webhook_id, p.event_id, p.meeting_id, p.event, p.state, p.due_at, p.expires_at, p.attempts, p.status,
    p.last_error, p.delivered_at, p.version, p.created_at, p.updated_at
FROM webhook_deliveries p
WHERE p.webhook_id = $1 AND p.meeting_id = $2 AND p.meeting_id <> 0 AND p.state = 'pending' AND p.id > $4
    AND NOT EXISTS (SELECT 1 FROM job_failures f WHERE f.job = $3 AND f.key = CAST(p.id AS text) AND f.version >= p.version)
    AND EXISTS (SELECT 1 FROM webhook_deliveries f WHERE f.id = $4 AND f.version = $5 AND f.state = 'pending' AND f.updated_at = $6)
    AND NOT EXISTS (SELECT 1 FROM webhook_deliveries q
        WHERE q.webhook_id = $1 AND q.meeting_id = $2 AND q.meeting_id <> 0 AND q.state = 'pending' AND q.id < $4
            AND NOT EXISTS (SELECT 1 FROM job_failures f WHERE f.job = $3 AND f.key = CAST(q.id AS text) AND f.version >= q.version))
ORDER BY p.id
LIMIT $7
