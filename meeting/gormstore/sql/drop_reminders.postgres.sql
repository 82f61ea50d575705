-- Deletes the reminders of meetings that are not among the new ones.
-- Parameters: $1 meetings, $2 new reminders, a JSON array of objects with the columns of x.
-- Result: meeting_id of each.
-- Index: the primary key.
DELETE FROM meeting_reminders
WHERE meeting_id = ANY ($1::bigint[]) AND (before, offset_seconds) NOT IN (SELECT x.before, x.offset_seconds FROM jsonb_to_recordset($2::jsonb) AS x(before text, offset_seconds bigint))
RETURNING meeting_id
