-- Stores what clocks show at the start and the end of meetings that do not have it yet.
-- Parameters: $1 a JSON array of objects with the columns of x.
-- Index: the primary key. The extra list of IDs makes the planner use it.
UPDATE meetings AS m SET shown_start = x.shown_start, shown_end = x.shown_end, original_wall = x.original_wall
FROM jsonb_to_recordset($1::jsonb) AS x(id bigint, shown_start text, shown_end text, original_wall text)
WHERE m.id = x.id AND m.shown_start IS NULL
    AND m.id = ANY (ARRAY(SELECT CAST(k ->> 'id' AS bigint) FROM jsonb_array_elements(CAST($1 AS jsonb)) AS k))
