-- Starts meetings whose schedule still has the version of their message.
-- Parameters: $1 a JSON array of objects: id, version; $2 now; $3 action, $4 job, $5 changes of a meeting that never started,
-- $6 of another.
-- Result: id, schedule_version of each.
-- Index: the primary key. The extra list of IDs makes the planner use it.
WITH changed AS (UPDATE meetings AS m SET status = 'in_progress', started_at = $2, updated_at = $2, version = m.version + 1
    FROM jsonb_to_recordset($1::jsonb) AS x(id bigint, version bigint)
    WHERE m.id = x.id
        AND m.id = ANY (ARRAY(SELECT CAST(k ->> 'id' AS bigint) FROM jsonb_array_elements(CAST($1 AS jsonb)) AS k))
        AND m.schedule_version = x.version AND m.status = 'confirmed' AND m.ends_at > $2 RETURNING m.id, m.schedule_version, m.started_at), recorded AS (
    INSERT INTO history (meeting_id, at, action, actor_kind, actor_name, changes)
    SELECT id, $2, $3, 'timer', $4, CASE WHEN started_at IS NULL THEN $5::jsonb ELSE $6::jsonb END FROM changed)
SELECT id, schedule_version FROM changed
