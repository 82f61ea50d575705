-- Saves when check-in opens and ends for meetings, and raises their versions.
-- Parameters: $1 a JSON array of objects with the columns of x, $2 now.
-- Index: the primary key.
UPDATE meetings AS m SET check_in_opens_at = x.opens_at, no_show_at = x.no_show_at,
    version = m.version + 1, updated_at = $2
FROM (SELECT value->>'id' AS id, value->>'opens_at' AS opens_at, value->>'no_show_at' AS no_show_at FROM json_each($1)) AS x
WHERE m.id = x.id
