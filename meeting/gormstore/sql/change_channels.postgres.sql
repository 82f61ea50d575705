-- Changes the channels of reminders of meetings to those of the new ones.
-- Parameters: $1 meetings, $2 new reminders, a JSON array of objects with the columns of x.
-- Result: meeting_id of each.
-- Index: the primary key.
UPDATE meeting_reminders AS r SET channels = x.channels
FROM jsonb_to_recordset($2::jsonb) AS x(before text, offset_seconds bigint, channels jsonb)
WHERE r.meeting_id = ANY ($1::bigint[]) AND r.before = x.before AND r.offset_seconds = x.offset_seconds AND r.channels <> x.channels
RETURNING meeting_id
