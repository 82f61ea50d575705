-- +goose Up

-- What is taken of all rooms at a time, read from the index alone: for a search in which hardly
-- any room is free.
CREATE INDEX occupancies_by_time ON occupancies (starts_at, ends_at, room_id);

-- +goose Down

DROP INDEX occupancies_by_time;
