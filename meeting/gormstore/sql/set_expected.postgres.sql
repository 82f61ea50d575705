-- Saves when check-in opens and ends for meetings, and raises their versions.
-- Parameters: $1 a JSON array of objects with the columns of x, $2 now.
-- Index: the primary key. The extra list of IDs makes the planner use it.
UPDATE meetings AS m SET check_in_opens_at = x.opens_at, no_show_at = x.no_show_at,
    version = m.version + 1, updated_at = $2
FROM jsonb_to_recordset($1::jsonb) AS x(id bigint, opens_at timestamptz, no_show_at timestamptz)
WHERE m.id = x.id
    AND m.id = ANY (ARRAY(SELECT CAST(k ->> 'id' AS bigint) FROM jsonb_array_elements(CAST($1 AS jsonb)) AS k))
