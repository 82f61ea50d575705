-- Gives those who wait for a room its new buffers.
-- Parameters: $1 room; $2 and $3 microseconds that the buffers before and after grow.
-- Index: waitlist_rooms by room.
UPDATE waitlist_rooms SET
    starts_at = starts_at - $2 * interval '1 microsecond', ends_at = ends_at + $3 * interval '1 microsecond'
WHERE room_id = $1 AND waitlist_id IN (SELECT id FROM waitlist WHERE state = 'waiting')
