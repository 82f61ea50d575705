-- Locks meetings by ID, and before them their series, as saving a series does: both raise its sequence.
-- Parameters: $1 meetings.
-- Result: id.
-- Index: the primary keys.
WITH their_series AS (
    SELECT id FROM series WHERE id IN (SELECT series_id FROM meetings WHERE id = ANY ($1::bigint[])) ORDER BY id FOR NO KEY UPDATE)
SELECT id FROM meetings WHERE id = ANY ($1::bigint[]) AND (SELECT count(*) FROM their_series) >= 0 ORDER BY id FOR NO KEY UPDATE
