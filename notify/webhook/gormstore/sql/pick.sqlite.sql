-- Returns deliveries with their place among those of the same webhook and meeting. Deliveries whose
-- message is a dead letter block no others.
-- Parameters: $1 job, $2 IDs, a JSON array.
-- Result: the row, ahead (pending ones before it, at most 1000), behind (whether some follow it).
-- Index: the primary key, webhook_deliveries_line.
SELECT d.id, d.webhook_id, d.event_id, d.meeting_id, d.event, d.state, d.due_at, d.expires_at, d.attempts, d.status,
    d.last_error, d.delivered_at, d.version, d.created_at, d.updated_at,
    (SELECT count(*) FROM (SELECT 1 FROM webhook_deliveries p
        WHERE p.webhook_id = d.webhook_id AND p.meeting_id = d.meeting_id AND p.meeting_id <> 0 AND p.id < d.id AND p.state = 'pending'
            AND NOT EXISTS (SELECT 1 FROM job_failures f WHERE f.job = $1 AND f.key = CAST(p.id AS text) AND f.version >= p.version)
        LIMIT 1000) AS line) AS ahead,
    EXISTS (SELECT 1 FROM webhook_deliveries p
        WHERE p.webhook_id = d.webhook_id AND p.meeting_id = d.meeting_id AND p.meeting_id <> 0 AND p.id > d.id AND p.state = 'pending') AS behind
FROM webhook_deliveries d
WHERE d.id IN (SELECT value FROM json_each($2))
