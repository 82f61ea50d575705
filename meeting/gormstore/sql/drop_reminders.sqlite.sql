-- Deletes the reminders of meetings that are not among the new ones.
-- Parameters: $1 meetings, $2 new reminders, a JSON array of objects with the columns of x.
-- Result: meeting_id of each.
-- Index: the primary key.
DELETE FROM meeting_reminders
WHERE meeting_id IN (SELECT value FROM json_each($1)) AND (before, offset_seconds) NOT IN (SELECT x.before, x.offset_seconds FROM (SELECT value->>'before' AS before, value->>'offset_seconds' AS offset_seconds FROM json_each($2)) AS x)
RETURNING meeting_id
