-- +goose Up

-- Kinds of meetings, such as exams, that admins define.
CREATE TABLE meeting_types (
    id           INTEGER  PRIMARY KEY AUTOINCREMENT,
    name         TEXT     NOT NULL,
    names        TEXT     NOT NULL, -- by language, in addition to name
    color        TEXT     NOT NULL, -- of the palette
    min_role     TEXT     NOT NULL, -- of users who can book it
    site_ids     TEXT     NOT NULL, -- with room_ids: where it can be booked; both empty: everywhere
    room_ids     TEXT     NOT NULL,
    quota_exempt BOOLEAN  NOT NULL,
    active       BOOLEAN  NOT NULL,
    version      INTEGER  NOT NULL DEFAULT 1,
    created_at   DATETIME NOT NULL,
    updated_at   DATETIME NOT NULL
);

ALTER TABLE meetings ADD COLUMN type_id INTEGER CONSTRAINT meetings_type REFERENCES meeting_types (id); -- NULL: an ordinary meeting
ALTER TABLE series ADD COLUMN type_id INTEGER CONSTRAINT series_type REFERENCES meeting_types (id);
CREATE INDEX meetings_type ON meetings (type_id, starts_at, id) WHERE type_id IS NOT NULL;

-- +goose Down

DROP INDEX meetings_type;
ALTER TABLE series DROP COLUMN type_id;
ALTER TABLE meetings DROP COLUMN type_id;
DROP TABLE meeting_types;
