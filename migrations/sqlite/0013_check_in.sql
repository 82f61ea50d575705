-- +goose Up

-- When the people of a meeting may check in, and until when they must. They are kept with the
-- meeting: what a room asks from now on does not reach back into what has begun.
ALTER TABLE meetings ADD COLUMN check_in_opens_at DATETIME; -- null: with the start
ALTER TABLE meetings ADD COLUMN no_show_at DATETIME;        -- null: nobody has to check in

CREATE INDEX meetings_no_show_due ON meetings (no_show_at, id)
    WHERE status IN ('confirmed', 'in_progress') AND checked_in_at IS NULL;

-- The message that releases a meeting follows its instant.
-- +goose StatementBegin
CREATE TRIGGER meetings_no_show_version AFTER UPDATE ON meetings
WHEN NEW.schedule_version = OLD.schedule_version
    AND NEW.no_show_at IS NOT OLD.no_show_at
    AND NEW.starts_at = OLD.starts_at AND NEW.ends_at = OLD.ends_at
BEGIN
    UPDATE meetings SET schedule_version = OLD.schedule_version + 1 WHERE id = NEW.id;
END;
-- +goose StatementEnd

-- A meeting that moves after somebody has checked in wants to be checked in to again.
DROP INDEX history_once;
CREATE UNIQUE INDEX history_once ON history (meeting_id, action) WHERE action NOT IN ('changed', 'confirmed', 'checked_in');

-- +goose Down

DROP INDEX history_once;
CREATE UNIQUE INDEX history_once ON history (meeting_id, action) WHERE action NOT IN ('changed', 'confirmed');
DROP TRIGGER meetings_no_show_version;
DROP INDEX meetings_no_show_due;
ALTER TABLE meetings DROP COLUMN no_show_at;
ALTER TABLE meetings DROP COLUMN check_in_opens_at;
