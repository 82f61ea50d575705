-- Sets when the occupancies of requests lapse, after close_requests.
-- Parameters: $1 meetings.
-- Index: occupancies_of_meeting.
UPDATE occupancies AS o SET lapses_at = CASE WHEN q.closed THEN q.deadline
    WHEN m.no_show_at < m.ends_at AND m.checked_in_at IS NULL THEN m.no_show_at END
FROM meetings m JOIN approvals q ON q.meeting_id = m.id
WHERE o.meeting_id = m.id AND NOT o.held AND m.id IN (SELECT value FROM json_each($1))
