-- Returns notifications with what decides whether an attempt may begin.
-- Parameters: $1 IDs, a JSON array; $2 now in microseconds.
-- Result: the row, busy (microseconds until its lease ends), in_thread (other rows of its thread matter).
-- Index: the primary key, notifications_thread.
SELECT n.*, COALESCE(n.sending_until - $2, 0) AS busy,
    n.thread <> '' AND EXISTS (SELECT 1 FROM notifications q
        WHERE q.thread = n.thread AND q.thread <> '' AND q.id <> n.id
            AND (q.state IN ('pending', 'sending') OR q.id > n.id AND q.kind IN ('invitation', 'change', 'cancellation', 'reply'))) AS in_thread
FROM notifications n
WHERE n.id IN (SELECT value FROM json_each($1))
