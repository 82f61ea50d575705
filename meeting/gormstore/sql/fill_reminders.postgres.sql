-- Adds the new reminders that meetings do not have. Those in the past are handled.
-- Parameters: $1 meetings, $2 new reminders, a JSON array of objects with the columns of x, $3 now.
-- Result: meeting_id of each.
-- Index: the primary keys.
INSERT INTO meeting_reminders (meeting_id, before, offset_seconds, channels, due_at, handled_at)
SELECT id, before, offset_seconds, channels, due_at, CASE WHEN due_at <= $3 THEN CAST($3 AS timestamptz) END
FROM (SELECT m.id, x.before, x.offset_seconds, x.channels,
        CASE x.before WHEN 'start' THEN m.starts_at ELSE m.ends_at END - x.offset_seconds * interval '1 second' AS due_at
    FROM meetings m, jsonb_to_recordset($2::jsonb) AS x(before text, offset_seconds bigint, channels jsonb)
    WHERE m.id = ANY ($1::bigint[])) AS wanted
WHERE true
ON CONFLICT (meeting_id, before, offset_seconds) DO NOTHING
RETURNING meeting_id
