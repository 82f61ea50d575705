-- Inserts notifications, except those whose key exists.
-- Parameters: $1 rows, a JSON array of arrays in the order of the columns, instants in microseconds; $2 now.
-- Result: id, dedupe_key of each new row.
-- Index: notifications_dedupe_key.
INSERT INTO notifications (dedupe_key, kind, channel, meeting_id, user_id, name, address, locale, timezone, facts,
    due_at, expires_at, state, last_error, thread, scope, organizer, created_at, updated_at)
SELECT value->>0, value->>1, value->>2, NULLIF(CAST(value->>3 AS bigint), 0), NULLIF(CAST(value->>4 AS bigint), 0),
    value->>5, value->>6, value->>7, value->>8, CAST(value->>9 AS jsonb),
    timestamptz 'epoch' + CAST(value->>10 AS bigint) * interval '1 microsecond',
    timestamptz 'epoch' + CAST(value->>11 AS bigint) * interval '1 microsecond',
    value->>12, value->>13, value->>14, CAST(value->>15 AS bigint), value->>16, $2, $2
FROM jsonb_array_elements(CAST($1 AS jsonb))
ON CONFLICT (dedupe_key) DO NOTHING
RETURNING id, dedupe_key
