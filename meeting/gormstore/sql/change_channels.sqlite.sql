-- Changes the channels of reminders of meetings to those of the new ones.
-- Parameters: $1 meetings, $2 new reminders, a JSON array of objects with the columns of x.
-- Result: meeting_id of each.
-- Index: the primary key.
UPDATE meeting_reminders AS r SET channels = x.channels
FROM (SELECT value->>'before' AS before, value->>'offset_seconds' AS offset_seconds, value->'channels' AS channels FROM json_each($2)) AS x
WHERE r.meeting_id IN (SELECT value FROM json_each($1)) AND r.before = x.before AND r.offset_seconds = x.offset_seconds AND r.channels <> x.channels
RETURNING meeting_id
