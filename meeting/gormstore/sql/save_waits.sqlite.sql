-- Saves waits and raises their versions.
-- Parameters: $1 a JSON array of objects with the columns of x.
-- Index: the primary key.
UPDATE waitlist AS w SET state = x.state, offer_until = x.offer_until, due_at = x.due_at, meeting_id = x.meeting_id,
    reason = x.reason, detail = x.detail, updated_at = x.updated_at, version = w.version + 1
FROM (SELECT value->>'id' AS id, value->>'state' AS state, value->>'offer_until' AS offer_until, value->>'due_at' AS due_at, value->>'meeting_id' AS meeting_id, value->>'reason' AS reason, value->>'detail' AS detail, value->>'updated_at' AS updated_at FROM json_each($1)) AS x
WHERE w.id = x.id
