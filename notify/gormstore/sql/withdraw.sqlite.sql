-- Cancels pending notifications about meetings.
-- Parameters: $1 now, $2 meetings, $3 kinds, the last two JSON arrays.
-- Index: notifications_of_meeting.
UPDATE notifications SET state = 'cancelled', updated_at = $1
WHERE meeting_id IN (SELECT value FROM json_each($2))
    AND kind IN (SELECT value FROM json_each($3))
    AND state = 'pending'
