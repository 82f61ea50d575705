-- Returns entries of the history with the rooms that a meeting left, and those that a requested change
-- is about.
-- Parameters: $1 the last entry that is known, $2 limit.
-- Result: id, action, at, meeting_id, a JSON array of three arrays of rooms.
-- Index: the primary key.
SELECT id, action, at, meeting_id, CASE WHEN changes IS NOT NULL THEN jsonb_build_array(
    changes -> 'room_ids' -> 'from', changes -> 'pending_change' -> 'from' -> 'room_ids', changes -> 'pending_change' -> 'to' -> 'room_ids') END
FROM history WHERE id > $1 ORDER BY id LIMIT $2
