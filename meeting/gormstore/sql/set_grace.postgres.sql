-- Sets when the occupancies of meetings lapse, after set_expected.
-- Parameters: $1 a JSON array of objects with the id of a meeting.
-- Index: occupancies_of_meeting. The extra list of IDs makes the planner use it.
UPDATE occupancies AS o SET lapses_at = CASE WHEN m.no_show_at < m.ends_at AND m.checked_in_at IS NULL THEN m.no_show_at END
FROM jsonb_to_recordset($1::jsonb) AS x(id bigint)
JOIN meetings m ON m.id = x.id LEFT JOIN approvals q ON q.meeting_id = m.id
WHERE o.meeting_id = x.id
    AND o.meeting_id = ANY (ARRAY(SELECT CAST(k ->> 'id' AS bigint) FROM jsonb_array_elements(CAST($1 AS jsonb)) AS k)) AND NOT o.held AND (m.status <> 'pending' OR q.on_timeout = 'confirmed')
