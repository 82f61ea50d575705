-- Deletes the reminders of meetings that are not among theirs now.
-- Parameters: $1 meetings, $2 reminders, a JSON array of objects with the columns of x.
-- Index: the primary key.
DELETE FROM meeting_reminders WHERE meeting_id IN (SELECT value FROM json_each($1)) AND (meeting_id, before, offset_seconds)
NOT IN (SELECT x.meeting_id, x.before, x.offset_seconds FROM (SELECT value->>'meeting_id' AS meeting_id, value->>'before' AS before, value->>'offset_seconds' AS offset_seconds FROM json_each($2)) AS x)
