-- Returns notifications with what decides whether an attempt may begin.
-- Parameters: $1 IDs, a JSON array.
-- Result: the row, busy (microseconds until its lease ends), in_thread (other rows of its thread matter),
-- overtakes (older calendars of its thread are due later), uninvited (a change that replaces an invitation which was not sent, in its thread or by SMS to the same user).
-- Index: the primary keys, notifications_thread.
SELECT n.id, n.dedupe_key, n.kind, n.channel, n.meeting_id, n.user_id, n.name, n.address, n.locale, n.timezone,
    n.facts, n.due_at, n.expires_at, n.state, n.version, n.attempts, n.message_id, n.last_error, n.failures,
    n.thread, n.scope, n.organizer, n.sending_at, n.sent_at, n.created_at, n.updated_at, n.sending_until,
    n.reception, n.reception_at, n.reception_reason,
    COALESCE(CAST(EXTRACT(EPOCH FROM n.sending_until - clock_timestamp()) * 1000000 AS bigint), 0) AS busy,
    n.thread <> '' AND EXISTS (SELECT 1 FROM notifications q
        WHERE q.thread = n.thread AND q.thread <> '' AND q.id <> n.id
            AND (q.state IN ('pending', 'sending') OR q.id > n.id AND q.kind IN ('invitation', 'change', 'cancellation', 'reply'))) AS in_thread,
    n.thread <> '' AND n.kind IN ('invitation', 'change', 'cancellation') AND EXISTS (SELECT 1 FROM notifications q
        WHERE q.thread = n.thread AND q.thread <> '' AND q.id < n.id AND q.kind IN ('invitation', 'change', 'cancellation')
            AND q.state = 'pending' AND q.due_at > n.due_at) AS overtakes,
    n.kind = 'change' AND n.thread <> '' AND EXISTS (SELECT 1 FROM notifications p
        WHERE p.thread <> '' AND p.id < n.id AND p.kind = 'invitation' AND p.state IN ('pending', 'sending', 'superseded')
            AND (p.thread = n.thread OR n.channel = 'email' AND p.thread = (
                SELECT 'sms ' || substr(n.thread, 7, length(n.thread) - 6 - length(n.address)) || lower(u.phone)
                FROM users u WHERE u.id = n.user_id AND u.phone <> ''))
            AND (n.scope = 0 OR n.scope = p.scope AND n.scope > 0)
            AND NOT EXISTS (SELECT 1 FROM notifications c
                WHERE c.thread IN (n.thread, p.thread) AND c.thread <> '' AND c.id < n.id AND (c.id > p.id OR c.thread <> p.thread)
                    AND c.kind IN ('invitation', 'change') AND c.state = 'sent'
                    AND (c.scope = 0 OR c.scope = p.scope AND c.scope > 0))) AS uninvited
FROM notifications n
WHERE n.id = ANY (ARRAY(SELECT CAST(v AS bigint) FROM jsonb_array_elements_text(CAST($1 AS jsonb)) AS v))
