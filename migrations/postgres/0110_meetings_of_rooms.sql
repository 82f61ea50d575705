-- +goose Up

-- What is taken of a room within a span, read from the index alone.
CREATE INDEX occupancies_of_room ON occupancies (room_id, starts_at) INCLUDE (ends_at, lapses_at, meeting_id);

-- Meetings that may take place, or took place, without holding their rooms all that time.
CREATE INDEX meetings_without_room ON meetings (starts_at, id) WHERE status = 'pending' OR ended_at < ends_at;

-- +goose Down
DROP INDEX meetings_without_room;
DROP INDEX occupancies_of_room;
