-- +goose Up

-- Sums of days with meetings that were deleted, because they are older than meetings.keep. Nothing can add
-- them up again, so they outlast changes of rooms and sites.
ALTER TABLE report_days ADD COLUMN final BOOLEAN NOT NULL DEFAULT false;
CREATE INDEX report_days_final ON report_days (starts_at, site_id, zone) WHERE final;

-- What is older than its retention period.
CREATE INDEX waitlist_ended ON waitlist (updated_at, id) WHERE state NOT IN ('waiting', 'offered');
CREATE INDEX dav_objects_past ON dav_objects (ends_at, id) WHERE meeting_id IS NULL AND series_id IS NULL;

-- What refers to a meeting that is deleted.
CREATE INDEX waitlist_of_meeting ON waitlist (meeting_id) WHERE meeting_id IS NOT NULL;

-- +goose Down

DROP INDEX waitlist_of_meeting;
DROP INDEX dav_objects_past;
DROP INDEX waitlist_ended;
DROP INDEX report_days_final;
ALTER TABLE report_days DROP COLUMN final;
