-- Returns what decides whether notifications about meetings are still accurate.
-- Parameters: $1 meetings.
-- Result: id, status, starts_at, ends_at, number of the request that waits; 0: none.
-- Index: the primary keys.
SELECT m.id, m.status, m.starts_at, m.ends_at,
    COALESCE((SELECT a.number FROM approvals AS a WHERE a.meeting_id = m.id AND a.waiting), 0)
FROM meetings AS m WHERE m.id IN (SELECT value FROM json_each($1))
