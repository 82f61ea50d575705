-- Settles what the time-out does to requests for rooms that were closed or opened. It covers requests
-- that wait, and that their time-out would approve.
-- Parameters: $1 now, $2 rooms.
-- Result: meeting_id of each changed request.
-- Index: meeting_rooms by room, approvals_pkey.
UPDATE approvals AS q SET closed = x.closed, on_timeout = CASE WHEN x.closed THEN 'rejected' ELSE 'confirmed' END
FROM (SELECT m.id, EXISTS (SELECT 1 FROM meeting_rooms mr JOIN rooms r ON r.id = mr.room_id WHERE mr.meeting_id = m.id AND (NOT r.active
        OR EXISTS (SELECT 1 FROM blackouts b WHERE (b.room_id = r.id OR b.site_id = r.site_id) AND b.starts_at < m.ends_at AND b.ends_at > m.starts_at))) AS closed
    FROM approvals a JOIN meetings m ON m.id = a.meeting_id
    WHERE a.waiting AND a.deadline > $1 AND a.change IS NULL AND (a.on_timeout = 'confirmed' OR a.closed) AND m.status = 'pending'
        AND m.id IN (SELECT meeting_id FROM meeting_rooms WHERE room_id = ANY($2))) AS x
WHERE q.meeting_id = x.id AND q.closed <> x.closed
RETURNING meeting_id
