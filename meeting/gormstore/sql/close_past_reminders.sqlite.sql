-- Marks reminders as handled that are past when their times come into force.
-- Parameters: $1 a JSON array of objects with the columns of x; of_start and of_end are "start" and "end", or empty.
-- Index: the primary key.
UPDATE meeting_reminders AS r SET handled_at = x.at
FROM (SELECT value->>'meeting_id' AS meeting_id, value->>'at' AS at, value->>'of_start' AS of_start, value->>'of_end' AS of_end FROM json_each($1)) AS x
WHERE r.meeting_id = x.meeting_id AND r.handled_at IS NULL AND r.due_at <= x.at AND r.before IN (x.of_start, x.of_end)
