-- Returns the rooms for which somebody waits, among some that have become free.
-- Parameters: $1 a JSON array of objects with the columns of x, $2 now.
-- Result: room_id.
-- Index: waitlist_rooms by room.
SELECT DISTINCT a.room_id
FROM jsonb_to_recordset($1::jsonb) AS x(room_id bigint, starts_at timestamptz, ends_at timestamptz)
JOIN waitlist_rooms a ON a.room_id = x.room_id AND tstzrange(a.starts_at, a.ends_at) && tstzrange(x.starts_at, x.ends_at)
JOIN waitlist w ON w.id = a.waitlist_id AND w.state = 'waiting' AND w.expires_at > $2
ORDER BY a.room_id
