-- Marks reminders as handled that were not.
-- Parameters: $1 a JSON array of objects with the columns of x, $2 now.
-- Result: meeting_id, before, offset_seconds of each.
-- Index: the primary key. The extra list of IDs makes the planner use it.
UPDATE meeting_reminders AS r SET handled_at = $2
FROM jsonb_to_recordset($1::jsonb) AS x(meeting_id bigint, before text, offset_seconds bigint)
WHERE r.meeting_id = x.meeting_id AND r.before = x.before AND r.offset_seconds = x.offset_seconds AND r.handled_at IS NULL

        AND r.meeting_id = ANY (ARRAY(SELECT CAST(k ->> 'meeting_id' AS bigint) FROM jsonb_array_elements(CAST($1 AS jsonb)) AS k))
RETURNING r.meeting_id, r.before, r.offset_seconds
