-- Begins attempts at notifications, except where an older one of the thread is not final. Expired
-- ones, dead letters and those that are not due yet do not block newer ones.
-- Parameters: $1 now, $2 length of the lease in microseconds, $3 IDs, $4 IDs of failed ones to try
-- again, the last two JSON arrays.
-- Result: id, version, attempts, sending_at.
-- Index: the primary key, notifications_thread.
UPDATE notifications AS n
SET state = 'sending', attempts = attempts + 1, sending_at = $1, sending_until = $1 + $2, updated_at = $1
WHERE n.id IN (SELECT value FROM json_each($3))
    AND (n.state = 'pending' OR n.state = 'sending' AND (n.sending_until IS NULL OR n.sending_until <= $1)
        OR n.state = 'failed' AND n.id IN (SELECT value FROM json_each($4)))
    AND (n.expires_at IS NULL OR n.expires_at >= $1)
    AND (n.thread = '' OR NOT EXISTS (SELECT 1 FROM notifications p
        WHERE p.thread = n.thread AND p.thread <> '' AND p.id < n.id AND p.state IN ('pending', 'sending')
            AND (p.state = 'sending' OR p.due_at <= $1)
            AND (p.state = 'sending' OR p.expires_at IS NULL OR p.expires_at >= $1)
            AND NOT EXISTS (SELECT 1 FROM job_failures f
                WHERE f.job = 'notify.' || p.channel AND f.key = CAST(p.id AS text) AND f.version >= p.version)))
RETURNING id, version, attempts, sending_at
