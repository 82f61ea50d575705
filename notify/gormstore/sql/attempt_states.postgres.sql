-- Returns notifications with what decides whether an attempt may begin.
-- Parameters: $1 IDs, a JSON array.
-- Result: the row, busy (microseconds until its lease ends), in_thread (other rows of its thread matter).
-- Index: the primary key, notifications_thread.
SELECT n.*, COALESCE(CAST(EXTRACT(EPOCH FROM n.sending_until - clock_timestamp()) * 1000000 AS bigint), 0) AS busy,
    n.thread <> '' AND EXISTS (SELECT 1 FROM notifications q
        WHERE q.thread = n.thread AND q.thread <> '' AND q.id <> n.id
            AND (q.state IN ('pending', 'sending') OR q.id > n.id AND q.kind IN ('invitation', 'change', 'cancellation', 'reply'))) AS in_thread
FROM notifications n
WHERE n.id = ANY (ARRAY(SELECT CAST(v AS bigint) FROM jsonb_array_elements_text(CAST($1 AS jsonb)) AS v))
