-- Stores the code of a door, in place of an older one of the room.
-- Parameters: $1 user, $2 code, $3 expiry, $4 room.
-- Rows affected: 1, or 0 if there is no such room or another room has this code.
-- Index: rooms_pkey, door_codes_code_unique.
INSERT INTO door_codes (room_id, user_id, code, expires_at)
SELECT r.id, CAST($1 AS bigint), CAST($2 AS text), CAST($3 AS timestamptz)
FROM rooms r
WHERE r.id = $4 AND NOT EXISTS (SELECT 1 FROM door_codes WHERE code = $2)
ON CONFLICT (room_id) DO UPDATE SET user_id = excluded.user_id, code = excluded.code, expires_at = excluded.expires_at
