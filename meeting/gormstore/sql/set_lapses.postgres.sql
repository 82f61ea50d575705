-- Sets when occupancies of meetings lapse.
-- Parameters: $1 a JSON array of objects with the columns of x.
-- Index: occupancies_of_meeting. The extra list of IDs makes the planner use it.
UPDATE occupancies AS o SET lapses_at = x.lapses_at
FROM jsonb_to_recordset($1::jsonb) AS x(meeting_id bigint, held boolean, lapses_at timestamptz)
WHERE o.meeting_id = x.meeting_id AND o.held = x.held
    AND o.meeting_id = ANY (ARRAY(SELECT CAST(k ->> 'meeting_id' AS bigint) FROM jsonb_array_elements(CAST($1 AS jsonb)) AS k))
