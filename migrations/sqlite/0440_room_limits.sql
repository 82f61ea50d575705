-- +goose Up
-- Which groups see a room, and what its meetings are about, by the access of the room or else of its site.
-- Most rooms have no row: everyone sees them. Lists of groups are texts like ',1,2,'; empty: everyone.
-- A row stays when the room no longer limits anything, so that its version only rises.
CREATE TABLE room_limits (
    room_id INTEGER PRIMARY KEY REFERENCES rooms (id) ON DELETE CASCADE,
    viewers TEXT NOT NULL, -- of the room
    readers TEXT NOT NULL, -- of what meetings are about
    version INTEGER NOT NULL
);

-- +goose Down
DROP TABLE room_limits;
