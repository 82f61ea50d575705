-- Makes notifications due that wait for the end of quiet hours, if a newer calendar of their thread is about to be
-- sent. The new version keeps them from waiting again.
-- Parameters: $1 now, $2 IDs of those about to be sent, $3 their threads, the last two JSON arrays; $4 the reason for
-- which they wait.
-- Result: id, version, thread.
-- Index: the primary key, notifications_thread.
UPDATE notifications AS p SET due_at = $1, version = version + 1, last_error = '', updated_at = $1
WHERE p.thread IN (SELECT value FROM json_each($3))
    AND p.thread <> '' AND p.kind IN ('invitation', 'change', 'cancellation')
    AND p.state = 'pending' AND p.due_at > $1 AND p.last_error = $4
    AND EXISTS (SELECT 1 FROM notifications n WHERE n.id IN (SELECT value FROM json_each($2)) AND n.thread = p.thread AND n.id > p.id)
RETURNING id, version, thread
