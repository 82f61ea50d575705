-- Returns the reminders that exist among some.
-- Parameters: $1 a JSON array of objects with the columns of x.
-- Result: meeting_id, before, offset_seconds.
-- Index: the primary key. The extra list of IDs makes the planner use it.
SELECT r.meeting_id, r.before, r.offset_seconds FROM meeting_reminders AS r
JOIN jsonb_to_recordset($1::jsonb) AS x(meeting_id bigint, before text, offset_seconds bigint)
ON r.meeting_id = x.meeting_id AND r.before = x.before AND r.offset_seconds = x.offset_seconds
    AND r.meeting_id = ANY (ARRAY(SELECT CAST(k ->> 'meeting_id' AS bigint) FROM jsonb_array_elements(CAST($1 AS jsonb)) AS k))
