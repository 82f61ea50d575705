-- Returns the rooms for which somebody waits, among some that have become free.
-- Parameters: $1 a JSON array of objects with the columns of x, $2 now.
-- Result: room_id.
-- Index: waitlist_rooms by room.
SELECT DISTINCT a.room_id
FROM (SELECT value->>'room_id' AS room_id, value->>'starts_at' AS starts_at, value->>'ends_at' AS ends_at FROM json_each($1)) AS x
JOIN waitlist_rooms a ON a.room_id = x.room_id AND a.starts_at < x.ends_at AND a.ends_at > x.starts_at
JOIN waitlist w ON w.id = a.waitlist_id AND w.state = 'waiting' AND w.expires_at > $2
ORDER BY a.room_id
