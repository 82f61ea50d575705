-- Ends meetings whose schedule still has the version of their message. One in progress to which nobody
-- came is left to the job that releases it.
-- Parameters: $1 a JSON array of objects: id, version; $2 now.
-- Result: id, schedule_version of each.
-- Index: the primary key.
UPDATE meetings AS m SET status = 'ended', ended_at = $2, updated_at = $2, version = m.version + 1
FROM (SELECT value->>'id' AS id, value->>'version' AS version FROM json_each($1)) AS x
WHERE m.id = x.id AND m.schedule_version = x.version AND m.status IN ('confirmed', 'in_progress')
    AND (m.checked_in_at IS NOT NULL OR m.no_show_at IS NULL OR m.no_show_at >= m.ends_at) RETURNING id, schedule_version
