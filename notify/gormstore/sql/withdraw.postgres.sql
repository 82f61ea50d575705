-- Cancels pending notifications about meetings, except posts in the channels of rooms and sites: they may be about more
-- dates, unless they are reminders.
-- Parameters: $1 now, $2 meetings, $3 kinds, the last two JSON arrays.
-- Index: notifications_of_meeting.
UPDATE notifications SET state = 'cancelled', updated_at = $1
WHERE meeting_id = ANY (ARRAY(SELECT CAST(v AS bigint) FROM jsonb_array_elements_text(CAST($2 AS jsonb)) AS v))
    AND kind = ANY (ARRAY(SELECT CAST(v AS text) FROM jsonb_array_elements_text(CAST($3 AS jsonb)) AS v))
    AND state = 'pending' AND NOT (channel = 'chat' AND user_id IS NULL AND kind <> 'reminder')
