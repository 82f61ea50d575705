-- +goose Up

-- Events that calendar programs stored over CalDAV, with what only the program knows of them, such as
-- alarms. One without a meeting and a series books nothing.
CREATE TABLE dav_objects (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id    INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name       text   NOT NULL,            -- last part of its address
    uid        text   NOT NULL,
    meeting_id INTEGER REFERENCES meetings (id) ON DELETE SET NULL,
    series_id  INTEGER REFERENCES series (id) ON DELETE SET NULL,
    starts_at  DATETIME    NOT NULL,       -- of an event without a meeting: when it begins
    ends_at    DATETIME   ,                -- and is over; null: it has no end
    ics        text   NOT NULL,
    version    INTEGER NOT NULL,
    created_at DATETIME    NOT NULL,
    updated_at DATETIME    NOT NULL,
    CONSTRAINT dav_objects_name_unique UNIQUE (user_id, name),
    CONSTRAINT dav_objects_uid_unique UNIQUE (user_id, uid)
);

CREATE INDEX dav_objects_meeting ON dav_objects (meeting_id) WHERE meeting_id IS NOT NULL;
CREATE INDEX dav_objects_series ON dav_objects (series_id) WHERE series_id IS NOT NULL;

-- What calendar programs were shown of each calendar. The present content is compared with it when a
-- program asks what changed.
CREATE TABLE dav_collections (
    name   text   PRIMARY KEY,             -- such as user-1 or room-1
    number INTEGER NOT NULL,                -- of the last change: the sync token
    oldest INTEGER NOT NULL,                -- the lowest token from which all changes are known
    state  text   NOT NULL                 -- of the content when it was last compared
);

CREATE TABLE dav_changes (
    collection  text    NOT NULL REFERENCES dav_collections (name) ON DELETE CASCADE,
    object      text    NOT NULL,          -- such as meeting-1, series-1 or object-1
    name        text    NOT NULL,          -- last part of its address
    fingerprint text    NOT NULL,          -- changes whenever etag may have changed
    etag        text    NOT NULL,
    number      INTEGER  NOT NULL,
    gone        boolean NOT NULL,
    changed_at  DATETIME    NOT NULL,
    PRIMARY KEY (collection, object)
);

CREATE INDEX dav_changes_number ON dav_changes (collection, number);

-- +goose Down

DROP TABLE dav_changes;
DROP TABLE dav_collections;
DROP TABLE dav_objects;
