-- Saves waits and raises their versions.
-- Parameters: $1 a JSON array of objects with the columns of x.
-- Index: the primary key. The extra list of IDs makes the planner use it.
UPDATE waitlist AS w SET state = x.state, offer_until = x.offer_until, due_at = x.due_at, meeting_id = x.meeting_id,
    reason = x.reason, detail = x.detail, updated_at = x.updated_at, version = w.version + 1
FROM jsonb_to_recordset($1::jsonb) AS x(id bigint, state text, offer_until timestamptz, due_at timestamptz, meeting_id bigint, reason text, detail text, updated_at timestamptz)
WHERE w.id = x.id
    AND w.id = ANY (ARRAY(SELECT CAST(k ->> 'id' AS bigint) FROM jsonb_array_elements(CAST($1 AS jsonb)) AS k))
