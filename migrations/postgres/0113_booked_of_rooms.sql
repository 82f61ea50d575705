-- +goose Up

-- What is booked of a room within a span is read from the index, too: what a changed request holds is left out.
CREATE INDEX occupancies_booked_of_room ON occupancies (room_id, starts_at) INCLUDE (ends_at, lapses_at, meeting_id, held);
DROP INDEX occupancies_of_room;
ALTER INDEX occupancies_booked_of_room RENAME TO occupancies_of_room;

-- +goose Down
CREATE INDEX occupancies_taken_of_room ON occupancies (room_id, starts_at) INCLUDE (ends_at, lapses_at, meeting_id);
DROP INDEX occupancies_of_room;
ALTER INDEX occupancies_taken_of_room RENAME TO occupancies_of_room;
