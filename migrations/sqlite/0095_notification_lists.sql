-- +goose Up

-- Lists are in the order of created_at and id, whatever they are filtered by.
CREATE INDEX notifications_of_meeting ON notifications (meeting_id, created_at, id);
CREATE INDEX notifications_to_address ON notifications (lower(address), created_at, id);
CREATE INDEX notifications_in_state ON notifications (state, created_at, id) WHERE state IN ('failed', 'skipped', 'skipped_late', 'cancelled', 'superseded');
DROP INDEX notifications_meeting;
DROP INDEX notifications_address;
DROP INDEX notifications_unsent;

-- +goose Down
CREATE INDEX notifications_unsent ON notifications (state, id) WHERE state IN ('failed', 'skipped', 'skipped_late', 'cancelled', 'superseded');
CREATE INDEX notifications_address ON notifications (lower(address), id);
CREATE INDEX notifications_meeting ON notifications (meeting_id, id);
DROP INDEX notifications_in_state;
DROP INDEX notifications_to_address;
DROP INDEX notifications_of_meeting;
