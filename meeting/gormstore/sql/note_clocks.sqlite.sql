-- Stores what clocks show at the start and the end of meetings that do not have it yet.
-- Parameters: $1 a JSON array of objects with the columns of x.
-- Index: the primary key.
UPDATE meetings AS m SET shown_start = x.shown_start, shown_end = x.shown_end, original_wall = x.original_wall
FROM (SELECT value->>'id' AS id, value->>'shown_start' AS shown_start, value->>'shown_end' AS shown_end, value->>'original_wall' AS original_wall FROM json_each($1)) AS x
WHERE m.id = x.id AND m.shown_start IS NULL
