-- +goose Up

-- What the public calendar shows of a site's rooms, or of one room.
CREATE TABLE public_access (
    site_id bigint CONSTRAINT public_access_site_unique UNIQUE REFERENCES sites (id) ON DELETE CASCADE, -- or
    room_id bigint CONSTRAINT public_access_room_unique UNIQUE REFERENCES rooms (id) ON DELETE CASCADE,
    show    text NOT NULL, -- off, busy or titles
    CONSTRAINT public_access_of_site_or_room CHECK ((site_id IS NULL) <> (room_id IS NULL))
);

-- +goose Down

DROP TABLE public_access;
