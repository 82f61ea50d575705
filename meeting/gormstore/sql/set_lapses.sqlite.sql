-- Sets when occupancies of meetings lapse.
-- Parameters: $1 a JSON array of objects with the columns of x.
-- Index: occupancies_of_meeting.
UPDATE occupancies AS o SET lapses_at = x.lapses_at
FROM (SELECT value->>'meeting_id' AS meeting_id, value->>'held' AS held, value->>'lapses_at' AS lapses_at FROM json_each($1)) AS x
WHERE o.meeting_id = x.meeting_id AND o.held = x.held
