-- Sets who sees a room, and the details of its meetings: of one room, or of all rooms of a site without
-- access of their own.
-- Parameters: $1 room or 0, $2 site or 0, $3 groups that see the room, $4 groups that see details.
-- Index: rooms by ID or by site; room_limits by room.
INSERT INTO room_limits (room_id, viewers, readers, version)
SELECT r.id, CAST($3 AS text), CAST($4 AS text), 1 FROM rooms AS r
WHERE (r.id = $1 OR r.site_id = $2 AND r.access IS NULL AND r.deleted_at IS NULL)
  AND ($3 <> '' OR $4 <> '' OR EXISTS (SELECT 1 FROM room_limits AS l WHERE l.room_id = r.id))
ON CONFLICT (room_id) DO UPDATE SET viewers = excluded.viewers, readers = excluded.readers, version = room_limits.version + 1
WHERE room_limits.viewers <> excluded.viewers OR room_limits.readers <> excluded.readers
