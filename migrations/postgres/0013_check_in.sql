-- +goose Up

-- When the people of a meeting may check in, and until when they must. They are kept with the
-- meeting: what a room asks from now on does not reach back into what has begun.
ALTER TABLE meetings
    ADD COLUMN check_in_opens_at timestamptz, -- null: with the start
    ADD COLUMN no_show_at        timestamptz; -- null: nobody has to check in

CREATE INDEX meetings_no_show_due ON meetings (no_show_at, id)
    WHERE status IN ('confirmed', 'in_progress') AND checked_in_at IS NULL;

-- The message that releases a meeting follows its instant.
CREATE TRIGGER meetings_no_show_version BEFORE UPDATE ON meetings FOR EACH ROW
    WHEN (NEW.schedule_version = OLD.schedule_version
        AND NEW.no_show_at IS DISTINCT FROM OLD.no_show_at
        AND NEW.starts_at = OLD.starts_at AND NEW.ends_at = OLD.ends_at)
    EXECUTE FUNCTION meetings_raise_schedule_version();

-- A meeting that moves after somebody has checked in wants to be checked in to again.
DROP INDEX history_once;
CREATE UNIQUE INDEX history_once ON history (meeting_id, action) WHERE action NOT IN ('changed', 'confirmed', 'checked_in');

-- +goose Down

DROP INDEX history_once;
CREATE UNIQUE INDEX history_once ON history (meeting_id, action) WHERE action NOT IN ('changed', 'confirmed');
DROP TRIGGER meetings_no_show_version ON meetings;
DROP INDEX meetings_no_show_due;
ALTER TABLE meetings DROP COLUMN no_show_at, DROP COLUMN check_in_opens_at;
