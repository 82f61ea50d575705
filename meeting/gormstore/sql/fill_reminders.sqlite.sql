-- Adds the new reminders that meetings do not have. Those in the past are handled.
-- Parameters: $1 meetings, $2 new reminders, a JSON array of objects with the columns of x, $3 now.
-- Result: meeting_id of each.
-- Index: the primary keys.
INSERT INTO meeting_reminders (meeting_id, before, offset_seconds, channels, due_at, handled_at)
SELECT id, before, offset_seconds, channels, due_at, CASE WHEN due_at <= $3 THEN CAST($3 AS timestamptz) END
FROM (SELECT m.id, x.before, x.offset_seconds, x.channels,
        CASE x.before WHEN 'start' THEN m.starts_at ELSE m.ends_at END - x.offset_seconds * 1000000 AS due_at
    FROM meetings m, (SELECT value->>'before' AS before, value->>'offset_seconds' AS offset_seconds, value->'channels' AS channels FROM json_each($2)) AS x
    WHERE m.id IN (SELECT value FROM json_each($1))) AS wanted
WHERE true
ON CONFLICT (meeting_id, before, offset_seconds) DO NOTHING
RETURNING meeting_id
