-- Deletes the reminders of meetings that are not among theirs now.
-- Parameters: $1 meetings, $2 reminders, a JSON array of objects with the columns of x.
-- Index: the primary key.
DELETE FROM meeting_reminders WHERE meeting_id = ANY ($1::bigint[]) AND (meeting_id, before, offset_seconds)
NOT IN (SELECT x.meeting_id, x.before, x.offset_seconds FROM jsonb_to_recordset($2::jsonb) AS x(meeting_id bigint, before text, offset_seconds bigint))
