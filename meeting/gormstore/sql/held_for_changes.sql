-- Returns what is held of a room for requested changes and for offers, in a span, and has not lapsed.
-- The parts that one change holds need not touch. What is held for an offer is of no meeting: 0.
-- Parameters: $1 room, $2 and $3 span, $4 now.
-- Result: meeting, start, end.
-- Index: occupancies_no_overlap on Postgres, the primary key on SQLite.
SELECT COALESCE(o.meeting_id, 0), o.starts_at, o.ends_at FROM occupancies o
WHERE o.room_id = $1 AND o.held AND o.starts_at < $3 AND o.ends_at > $2 AND (o.lapses_at IS NULL OR o.lapses_at > $4) ORDER BY o.starts_at
