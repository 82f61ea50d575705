-- Returns until when a room is held for requested changes and offers.
-- Parameters: $1 room, $2 now.
-- Result: end, or no row.
-- Index: occupancies by room.
SELECT o.ends_at FROM occupancies o WHERE o.room_id = $1 AND o.held AND (o.lapses_at IS NULL OR o.lapses_at > $2) ORDER BY o.ends_at DESC LIMIT 1
