-- Locks meetings by ID, and before them their series, as saving a series does: both raise its sequence.
-- Parameters: $1 meetings.
-- Result: id.
-- Index: the primary keys.
WITH their_series AS (
    SELECT id FROM series WHERE id IN (SELECT series_id FROM meetings WHERE id IN (SELECT value FROM json_each($1))) ORDER BY id )
SELECT id FROM meetings WHERE id IN (SELECT value FROM json_each($1)) AND (SELECT count(*) FROM their_series) >= 0 ORDER BY id
