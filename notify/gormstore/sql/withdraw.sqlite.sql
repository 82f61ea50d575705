-- Cancels pending notifications about meetings, except posts in the channels of rooms and sites: they may be about more
-- dates, unless they are reminders.
-- Parameters: $1 now, $2 meetings, $3 kinds, the last two JSON arrays.
-- Index: notifications_of_meeting.
UPDATE notifications SET state = 'cancelled', updated_at = $1
WHERE meeting_id IN (SELECT value FROM json_each($2))
    AND kind IN (SELECT value FROM json_each($3))
    AND state = 'pending' AND NOT (channel = 'chat' AND user_id IS NULL AND kind <> 'reminder')
