-- Extends the leases of notifications that are being sent.
-- Parameters: $1 IDs, a JSON array; $2 length of the lease in microseconds; $3 now.
-- Result: id, sending_at.
-- Index: the primary key.
UPDATE notifications SET sending_until = $3 + $2
WHERE id IN (SELECT value FROM json_each($1)) AND state = 'sending'
RETURNING id, sending_at
