-- +goose Up

-- Fields of meetings that admins define, such as a cost center.
CREATE TABLE custom_fields (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT NOT NULL CONSTRAINT custom_fields_name_unique UNIQUE, -- in requests
    label      TEXT NOT NULL,
    labels     TEXT NOT NULL, -- by language, in addition to label
    kind       TEXT NOT NULL, -- text, number, choice or yes_no
    choices    TEXT NOT NULL,
    help       TEXT NOT NULL,
    required   BOOLEAN NOT NULL,
    audience   TEXT NOT NULL, -- everyone, or organizer and admins
    in_mails   BOOLEAN NOT NULL,
    site_ids   TEXT NOT NULL, -- whose rooms ask for it; empty: all rooms
    position   INTEGER NOT NULL,
    active     BOOLEAN NOT NULL,
    version    INTEGER NOT NULL DEFAULT 1,
    created_at DATETIME NOT NULL,
    updated_at DATETIME NOT NULL
);

ALTER TABLE meetings ADD COLUMN fields TEXT; -- values with their names and labels; NULL: none
ALTER TABLE series ADD COLUMN fields TEXT;

-- +goose Down

ALTER TABLE series DROP COLUMN fields;
ALTER TABLE meetings DROP COLUMN fields;
DROP TABLE custom_fields;
