-- +goose Up

-- From then on the row holds nothing, even if the timer that removes it is late: the deadline of a
-- request, the end of the grace of a required check-in, the end of an offer. NULL: never.
ALTER TABLE occupancies ADD COLUMN lapses_at DATETIME;
UPDATE occupancies AS o SET lapses_at = w.offer_until FROM waitlist w WHERE w.id = o.waitlist_id;
UPDATE occupancies AS o SET lapses_at = CASE
        WHEN o.held AND q.on_timeout = 'confirmed' THEN m.starts_at
        WHEN o.held THEN min(q.deadline, m.starts_at)
        WHEN m.status = 'pending' AND COALESCE(q.on_timeout, 'rejected') <> 'confirmed' THEN m.approval_deadline
        WHEN m.checked_in_at IS NULL AND m.no_show_at < m.ends_at THEN m.no_show_at END
    FROM meetings m LEFT JOIN approvals q ON q.meeting_id = m.id
    WHERE m.id = o.meeting_id AND m.status IN ('pending', 'confirmed', 'in_progress')
        AND (o.held OR m.status = 'pending' OR m.no_show_at IS NOT NULL);

DROP INDEX occupancies_by_time;
CREATE INDEX occupancies_by_time ON occupancies (starts_at, ends_at, room_id, lapses_at);
DROP INDEX occupancies_long;
CREATE INDEX occupancies_long ON occupancies (look_back_days, starts_at, ends_at, room_id, lapses_at) WHERE look_back_days > 1;

-- +goose Down

DROP INDEX occupancies_by_time;
DROP INDEX occupancies_long;
ALTER TABLE occupancies DROP COLUMN lapses_at;
CREATE INDEX occupancies_by_time ON occupancies (starts_at, ends_at, room_id);
CREATE INDEX occupancies_long ON occupancies (look_back_days, starts_at, ends_at, room_id) WHERE look_back_days > 1;
