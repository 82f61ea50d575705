-- Starts meetings whose schedule still has the version of their message.
-- Parameters: $1 a JSON array of objects: id, version; $2 now.
-- Result: id, schedule_version of each.
-- Index: the primary key.
UPDATE meetings AS m SET status = 'in_progress', started_at = $2, updated_at = $2, version = m.version + 1
FROM (SELECT value->>'id' AS id, value->>'version' AS version FROM json_each($1)) AS x
WHERE m.id = x.id AND m.schedule_version = x.version AND m.status = 'confirmed' AND m.ends_at > $2 RETURNING id, schedule_version
