-- Returns the chat channels that are about rooms: those of the rooms and of their sites, with each of these rooms.
-- Parameters: $1 IDs of rooms, a JSON array.
-- Result: the columns of channelRow.
-- Index: the primary key of rooms, chat_targets_room_unique, chat_targets_site_unique.
SELECT COALESCE(c.room_id, 0) AS room_id, COALESCE(c.site_id, 0) AS site_id, COALESCE(s.name, r.name) AS name, c.locale, c.kinds, r.id AS about
FROM rooms r JOIN chat_targets c ON c.room_id = r.id OR c.site_id = r.site_id LEFT JOIN sites s ON s.id = c.site_id
WHERE r.id IN (SELECT value FROM json_each($1))
ORDER BY c.id, r.id
