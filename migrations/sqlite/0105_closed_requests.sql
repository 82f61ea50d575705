-- +goose Up

-- A room of the request was closed while it waits: its time-out rejects it unless the room is opened again.
-- on_timeout is 'rejected' meanwhile.
ALTER TABLE approvals ADD COLUMN closed BOOLEAN NOT NULL DEFAULT false;
UPDATE approvals AS q SET closed = true, on_timeout = 'rejected' FROM meetings m
    WHERE q.meeting_id = m.id AND m.status = 'pending' AND q.waiting AND q.change IS NULL AND q.on_timeout = 'confirmed'
        AND EXISTS (SELECT 1 FROM meeting_rooms mr JOIN rooms r ON r.id = mr.room_id WHERE mr.meeting_id = m.id AND (NOT r.active OR EXISTS (
            SELECT 1 FROM blackouts b WHERE (b.room_id = r.id OR b.site_id = r.site_id) AND b.starts_at < m.ends_at AND b.ends_at > m.starts_at)));
UPDATE occupancies AS o SET lapses_at = q.deadline FROM approvals q WHERE q.meeting_id = o.meeting_id AND q.closed AND NOT o.held;

-- +goose Down
UPDATE approvals SET on_timeout = 'confirmed' WHERE closed;
ALTER TABLE approvals DROP COLUMN closed;
