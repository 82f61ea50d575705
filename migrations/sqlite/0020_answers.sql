-- +goose Up

-- What people said with their answer to an invitation. They may answer again, and each time
-- leaves an entry.
ALTER TABLE attendees ADD COLUMN comment TEXT NOT NULL DEFAULT '';
DROP INDEX history_once;
CREATE UNIQUE INDEX history_once ON history (meeting_id, action) WHERE action NOT IN ('changed', 'confirmed', 'checked_in', 'responded');

-- Addresses at which calendars of other programs read. Only the SHA-256 of their secrets is here.
CREATE TABLE feeds (
    id             INTEGER  PRIMARY KEY AUTOINCREMENT,
    user_id        INTEGER  NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    room_id        INTEGER,           -- null: the user's own meetings
    name           TEXT     NOT NULL DEFAULT '',
    private_titles BOOLEAN  NOT NULL DEFAULT false, -- of the user's own private meetings
    hash           TEXT     NOT NULL, -- hexadecimal
    last_used_at   DATETIME,          -- to the minute
    created_at     DATETIME NOT NULL,
    CONSTRAINT feeds_hash_unique UNIQUE (hash)
);

CREATE INDEX feeds_user ON feeds (user_id, id);

-- +goose Down

DROP TABLE feeds;
DELETE FROM history WHERE action = 'responded';
DROP INDEX history_once;
CREATE UNIQUE INDEX history_once ON history (meeting_id, action) WHERE action NOT IN ('changed', 'confirmed', 'checked_in');
ALTER TABLE attendees DROP COLUMN comment;
