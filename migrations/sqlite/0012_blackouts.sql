-- +goose Up

-- A time at which a room, or every room of a site, takes no meetings.
CREATE TABLE blackouts (
    id         INTEGER  PRIMARY KEY AUTOINCREMENT,
    room_id    INTEGER  CONSTRAINT blackouts_room REFERENCES rooms (id),
    site_id    INTEGER  CONSTRAINT blackouts_site REFERENCES sites (id) ON DELETE CASCADE,
    starts_at  DATETIME NOT NULL,
    ends_at    DATETIME NOT NULL,
    reason     TEXT     NOT NULL DEFAULT '',
    version    INTEGER  NOT NULL DEFAULT 1,
    created_at DATETIME NOT NULL,
    updated_at DATETIME NOT NULL,
    CONSTRAINT blackouts_times_are_integers CHECK (typeof(starts_at) = 'integer' AND typeof(ends_at) = 'integer'),
    CONSTRAINT blackouts_of_room_or_site CHECK ((room_id IS NULL) <> (site_id IS NULL)),
    CONSTRAINT blackouts_ends_after_start CHECK (ends_at > starts_at)
);

CREATE INDEX blackouts_room ON blackouts (room_id, ends_at) WHERE room_id IS NOT NULL;
CREATE INDEX blackouts_site ON blackouts (site_id, ends_at) WHERE site_id IS NOT NULL;
CREATE INDEX blackouts_start ON blackouts (starts_at, id);

-- Raised with every change of a blackout of the room or its site; 0: there was never one. A
-- booking names the number that it was judged by, and is refused by the row if it has changed.
ALTER TABLE rooms ADD COLUMN closures INTEGER NOT NULL DEFAULT 0;

-- +goose Down

ALTER TABLE rooms DROP COLUMN closures;
DROP TABLE blackouts;
