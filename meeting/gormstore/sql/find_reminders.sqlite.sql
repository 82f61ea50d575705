-- Returns the reminders that exist among some.
-- Parameters: $1 a JSON array of objects with the columns of x.
-- Result: meeting_id, before, offset_seconds.
-- Index: the primary key.
SELECT r.meeting_id, r.before, r.offset_seconds FROM meeting_reminders AS r
JOIN (SELECT value->>'meeting_id' AS meeting_id, value->>'before' AS before, value->>'offset_seconds' AS offset_seconds FROM json_each($1)) AS x
ON r.meeting_id = x.meeting_id AND r.before = x.before AND r.offset_seconds = x.offset_seconds
