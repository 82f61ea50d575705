-- Extends the leases of notifications that are being sent.
-- Parameters: $1 IDs, a JSON array; $2 length of the lease in microseconds.
-- Result: id, sending_at.
-- Index: the primary key.
UPDATE notifications SET sending_until = clock_timestamp() + $2 * interval '1 microsecond'
WHERE id = ANY (ARRAY(SELECT CAST(v AS bigint) FROM jsonb_array_elements_text(CAST($1 AS jsonb)) AS v)) AND state = 'sending'
RETURNING id, sending_at
