-- +goose Up

-- Until when whoever sends a notification may be taken to live; null or past: take it over.
ALTER TABLE notifications ADD COLUMN sending_until DATETIME;

-- +goose Down

ALTER TABLE notifications DROP COLUMN sending_until;
