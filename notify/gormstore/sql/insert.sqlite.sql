-- Inserts notifications, except those whose key exists.
-- Parameters: $1 rows, a JSON array of arrays in the order of the columns, instants in microseconds; $2 now.
-- Result: id, dedupe_key of each new row.
-- Index: notifications_dedupe_key.
INSERT INTO notifications (dedupe_key, kind, channel, meeting_id, user_id, name, address, locale, timezone, facts,
    due_at, expires_at, state, last_error, thread, scope, organizer, created_at, updated_at)
SELECT value->>0, value->>1, value->>2, NULLIF(value->>3, 0), NULLIF(value->>4, 0), value->>5, value->>6, value->>7,
    value->>8, value->>9, value->>10, value->>11, value->>12, value->>13, value->>14, value->>15, value->>16, $2, $2
FROM json_each($1)
WHERE true -- ends the SELECT: SQLite would take ON for that of a join
ON CONFLICT (dedupe_key) DO NOTHING
RETURNING id, dedupe_key
