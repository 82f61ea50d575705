-- +goose Up

-- The events of other calendars that meetings and series come from. An event is known by its UID and
-- its organizer: another organizer cannot touch it.
CREATE TABLE calendar_objects (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    uid        text   NOT NULL,
    organizer  text   NOT NULL,            -- email address in lower case; '': none
    origin     text   NOT NULL CHECK (origin IN ('mail', 'caldav', 'import', 'mirror')),
    meeting_id INTEGER REFERENCES meetings (id) ON DELETE CASCADE,
    series_id  INTEGER REFERENCES series (id) ON DELETE CASCADE,
    sequence   INTEGER NOT NULL,
    dtstamp    DATETIME,                -- of that version; null: unknown
    CONSTRAINT calendar_objects_unique UNIQUE (uid, organizer)
);

CREATE INDEX calendar_objects_meeting ON calendar_objects (meeting_id) WHERE meeting_id IS NOT NULL;
CREATE INDEX calendar_objects_series ON calendar_objects (series_id) WHERE series_id IS NOT NULL;

-- +goose Down

DROP TABLE calendar_objects;
