-- Marks reminders as handled that are past when their times come into force.
-- Parameters: $1 a JSON array of objects with the columns of x; of_start and of_end are "start" and "end", or empty.
-- Index: the primary key. The extra list of IDs makes the planner use it.
UPDATE meeting_reminders AS r SET handled_at = x.at
FROM jsonb_to_recordset($1::jsonb) AS x(meeting_id bigint, at timestamptz, of_start text, of_end text)
WHERE r.meeting_id = x.meeting_id AND r.handled_at IS NULL AND r.due_at <= x.at AND r.before IN (x.of_start, x.of_end)

        AND r.meeting_id = ANY (ARRAY(SELECT CAST(k ->> 'meeting_id' AS bigint) FROM jsonb_array_elements(CAST($1 AS jsonb)) AS k))
