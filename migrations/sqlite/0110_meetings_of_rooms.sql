-- +goose Up

-- Meetings that may take place, or took place, without holding their rooms all that time.
CREATE INDEX meetings_without_room ON meetings (starts_at, id) WHERE status = 'pending' OR ended_at < ends_at;

-- +goose Down
DROP INDEX meetings_without_room;
