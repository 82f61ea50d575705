-- Records what became of attempts.
-- Parameters: $1 outcomes, a JSON array of objects with the columns of x; uncharged is 1 if the attempt does not count,
-- due is when to send it instead, if there was no attempt.
-- Result: id of each changed row; if it is final now, next_id and next_version of the next row of its thread.
-- Index: the primary key, notifications_thread.
-- The extra list of IDs makes the planner look up each row by ID.
UPDATE notifications
SET state = x.state, attempts = notifications.attempts - x.uncharged, last_error = x.error, sending_until = NULL, updated_at = x.at, due_at = COALESCE(x.due, notifications.due_at),
    message_id = CASE x.message_id WHEN '' THEN notifications.message_id ELSE x.message_id END,
    sent_at = CASE x.state WHEN 'sent' THEN x.at ELSE notifications.sent_at END,
    failures = CASE WHEN x.error <> '' AND x.uncharged = 0 AND x.due IS NULL AND x.state NOT IN ('skipped', 'superseded')
            AND jsonb_array_length(notifications.failures) < 50
        THEN notifications.failures || jsonb_build_object('at', x.at_text, 'attempt', notifications.attempts, 'error', x.error)
        ELSE notifications.failures END
FROM jsonb_to_recordset(CAST($1 AS jsonb)) AS x (id bigint, version bigint, state text, uncharged int, message_id text, error text,
    at timestamptz, at_text text, begun timestamptz, due timestamptz)
WHERE notifications.id = x.id AND notifications.version = x.version AND notifications.state <> 'sent'
    AND (x.due IS NULL OR notifications.state = 'pending')
    AND (x.state = 'sent'
        OR notifications.state IN ('pending', 'sending') AND (x.begun IS NULL OR notifications.sending_at = x.begun)
        OR notifications.state = 'failed' AND x.state IN ('skipped', 'superseded'))
    AND notifications.id = ANY (ARRAY(SELECT CAST(value->>'id' AS bigint) FROM jsonb_array_elements(CAST($1 AS jsonb))))
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
