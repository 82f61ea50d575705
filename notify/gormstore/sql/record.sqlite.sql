-- Records what became of attempts.
-- Parameters: $1 outcomes, a JSON array of objects with the columns of x;
-- uncharged is 1 if the attempt does not count, due is when to send it instead, if there was no attempt;
-- at, begun and due are in microseconds.
-- Result: id of each changed row; if it is final now, next_id and next_version of the next row of its thread.
-- Index: the primary key, notifications_thread.
UPDATE notifications
SET state = x.state, attempts = notifications.attempts - x.uncharged, last_error = x.error, sending_until = NULL, updated_at = x.at, due_at = COALESCE(x.due, notifications.due_at),
    message_id = CASE x.message_id WHEN '' THEN notifications.message_id ELSE x.message_id END,
    sent_at = CASE x.state WHEN 'sent' THEN x.at ELSE notifications.sent_at END,
    failures = CASE WHEN x.error <> '' AND x.uncharged = 0 AND x.due IS NULL AND x.state NOT IN ('skipped', 'superseded')
            AND json_array_length(notifications.failures) < 50
        THEN json_insert(notifications.failures, '$[#]', json_object('at', x.at_text, 'attempt', notifications.attempts, 'error', x.error))
        ELSE notifications.failures END
FROM (SELECT value->>'id' AS id, value->>'version' AS version, value->>'state' AS state, value->>'uncharged' AS uncharged,
        value->>'message_id' AS message_id, value->>'error' AS error, value->>'at' AS at, value->>'at_text' AS at_text,
        value->>'begun' AS begun, value->>'due' AS due
    FROM json_each($1)) AS x
WHERE notifications.id = x.id AND notifications.version = x.version AND notifications.state <> 'sent'
    AND (x.due IS NULL OR notifications.state = 'pending')
    AND (x.state = 'sent'
        OR notifications.state IN ('pending', 'sending') AND (x.begun IS NULL OR notifications.sending_at = x.begun)
        OR notifications.state = 'failed' AND x.state IN ('skipped', 'superseded'))
RETURNING notifications.id,
    CASE WHEN notifications.thread <> '' AND notifications.state NOT IN ('pending', 'sending') THEN (
        SELECT q.id FROM notifications q
        WHERE q.thread = notifications.thread AND q.thread <> '' AND q.id <> notifications.id
            AND q.state = 'pending' AND q.due_at <= notifications.updated_at
            AND NOT (q.kind IN ('invitation', 'change', 'cancellation', 'reply') AND EXISTS (SELECT 1 FROM notifications c
                WHERE c.thread = q.thread AND c.thread <> '' AND c.id > q.id AND c.kind IN ('invitation', 'change', 'cancellation', 'reply')
                    AND c.state <> 'cancelled' AND (c.scope = 0 OR c.scope = q.scope AND c.scope > 0)))
        ORDER BY q.id LIMIT 1) END AS next_id,
    CASE WHEN notifications.thread <> '' AND notifications.state NOT IN ('pending', 'sending') THEN (
        SELECT q.version FROM notifications q
        WHERE q.thread = notifications.thread AND q.thread <> '' AND q.id <> notifications.id
            AND q.state = 'pending' AND q.due_at <= notifications.updated_at
            AND NOT (q.kind IN ('invitation', 'change', 'cancellation', 'reply') AND EXISTS (SELECT 1 FROM notifications c
                WHERE c.thread = q.thread AND c.thread <> '' AND c.id > q.id AND c.kind IN ('invitation', 'change', 'cancellation', 'reply')
                    AND c.state <> 'cancelled' AND (c.scope = 0 OR c.scope = q.scope AND c.scope > 0)))
        ORDER BY q.id LIMIT 1) END AS next_version
