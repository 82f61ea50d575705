-- +goose Up

-- The rooms that users marked, to find them first.
CREATE TABLE favorite_rooms (
    user_id bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    room_id bigint NOT NULL REFERENCES rooms (id) ON DELETE CASCADE,
    PRIMARY KEY (user_id, room_id)
);
CREATE INDEX favorite_rooms_room ON favorite_rooms (room_id);

-- +goose Down

DROP TABLE favorite_rooms;
