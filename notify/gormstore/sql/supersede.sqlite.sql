-- Marks the notifications that newer ones of their thread cover, unless a process is sending them.
-- Parameters: $1 now, $2 threads, a JSON array.
-- Index: notifications_thread.
UPDATE notifications AS n SET state = 'superseded', sending_until = NULL, updated_at = $1,
    last_error = 'superseded by notification ' || (SELECT max(c.id) FROM notifications c
        WHERE c.thread = n.thread AND c.thread <> '' AND c.id > n.id AND c.kind IN ('invitation', 'change', 'cancellation', 'reply')
            AND c.state <> 'cancelled' AND (c.scope = 0 OR c.scope = n.scope AND c.scope > 0))
WHERE n.thread IN (SELECT value FROM json_each($2))
    AND n.thread <> ''
    AND (n.state = 'pending' OR n.state = 'sending' AND (n.sending_until IS NULL OR n.sending_until <= $1))
    AND n.kind IN ('invitation', 'change', 'cancellation', 'reply')
    AND EXISTS (SELECT 1 FROM notifications c
        WHERE c.thread = n.thread AND c.thread <> '' AND c.id > n.id AND c.kind IN ('invitation', 'change', 'cancellation', 'reply')
            AND c.state <> 'cancelled' AND (c.scope = 0 OR c.scope = n.scope AND c.scope > 0))
