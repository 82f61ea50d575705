-- +goose Up

-- What one recipient reads about one meeting, or one series, by one channel is a thread: it is sent in
-- the order of the ids, and what a newer notification of the thread covers is not sent at all.
ALTER TABLE notifications
    ADD COLUMN thread    text   NOT NULL DEFAULT '', -- '': of no thread
    ADD COLUMN scope     bigint NOT NULL DEFAULT 0,  -- of its calendar: 0 all of the thread, -1 some dates, else one meeting
    ADD COLUMN organizer text   NOT NULL DEFAULT '', -- e-mail address of the user who causes it; '': nobody
    DROP CONSTRAINT notifications_state,
    ADD CONSTRAINT notifications_state
        CHECK (state IN ('pending', 'sending', 'sent', 'failed', 'skipped', 'skipped_late', 'cancelled', 'superseded'));

CREATE INDEX notifications_thread ON notifications (thread, id) WHERE thread <> '';
CREATE INDEX notifications_quota ON notifications (organizer, channel, created_at) WHERE user_id IS NULL AND organizer <> '';
DROP INDEX notifications_unsent;
CREATE INDEX notifications_unsent ON notifications (state, id) WHERE state IN ('failed', 'skipped', 'skipped_late', 'cancelled', 'superseded');

-- +goose Down
UPDATE notifications SET state = 'cancelled' WHERE state = 'superseded';
DROP INDEX notifications_unsent;
CREATE INDEX notifications_unsent ON notifications (state, id) WHERE state IN ('failed', 'skipped', 'skipped_late', 'cancelled');
DROP INDEX notifications_quota;
DROP INDEX notifications_thread;
ALTER TABLE notifications
    DROP CONSTRAINT notifications_state,
    ADD CONSTRAINT notifications_state
        CHECK (state IN ('pending', 'sending', 'sent', 'failed', 'skipped', 'skipped_late', 'cancelled')),
    DROP COLUMN organizer,
    DROP COLUMN scope,
    DROP COLUMN thread;
