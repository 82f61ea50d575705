-- Returns the meetings in a room that come, or to which people may still come, with the check-in settings
-- of all their rooms. It locks them.
-- Parameters: $1 room, $2 now.
-- Result: id, starts_at, ends_at, check_in_opens_at, no_show_at, a JSON array of settings.
-- Index: meeting_rooms by room.
SELECT m.id, m.starts_at, m.ends_at, m.check_in_opens_at, m.no_show_at,
    (SELECT json_group_array(json(r.check_in)) FROM meeting_rooms mr JOIN rooms r ON r.id = mr.room_id WHERE mr.meeting_id = m.id)
FROM meetings m
WHERE (m.status IN ('pending', 'confirmed') AND m.starts_at > $2
    OR m.status IN ('confirmed', 'in_progress') AND m.no_show_at > $2 AND m.checked_in_at IS NULL)
    AND m.id IN (SELECT meeting_id FROM meeting_rooms WHERE room_id = $1)
ORDER BY m.id
