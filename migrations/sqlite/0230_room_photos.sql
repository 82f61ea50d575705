-- +goose Up

-- Pictures of rooms, as JPEG in two sizes.
CREATE TABLE room_photos (
    room_id bigint PRIMARY KEY REFERENCES rooms (id) ON DELETE CASCADE,
    large   blob  NOT NULL,
    small   blob  NOT NULL,
    bytes   bigint NOT NULL -- of both
);
ALTER TABLE rooms ADD COLUMN photo text NOT NULL DEFAULT ''; -- hash of the picture; empty: none

-- +goose Down

ALTER TABLE rooms DROP COLUMN photo;
DROP TABLE room_photos;
