-- +goose Up

-- The meeting that became the first date of a series, and whose UID calendars use for the series.
-- The UID outlives the meeting, so this is no foreign key.
ALTER TABLE series ADD COLUMN first_meeting_id integer;

-- +goose Down

ALTER TABLE series DROP COLUMN first_meeting_id;
