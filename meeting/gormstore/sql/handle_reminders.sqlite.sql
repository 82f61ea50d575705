-- Marks reminders as handled that were not.
-- Parameters: $1 a JSON array of objects with the columns of x, $2 now.
-- Result: meeting_id, before, offset_seconds of each.
-- Index: the primary key.
UPDATE meeting_reminders AS r SET handled_at = $2
FROM (SELECT value->>'meeting_id' AS meeting_id, value->>'before' AS before, value->>'offset_seconds' AS offset_seconds FROM json_each($1)) AS x
WHERE r.meeting_id = x.meeting_id AND r.before = x.before AND r.offset_seconds = x.offset_seconds AND r.handled_at IS NULL

RETURNING meeting_id, before, offset_seconds
