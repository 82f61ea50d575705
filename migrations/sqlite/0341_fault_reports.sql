-- +goose Up

-- Where faults of rooms are mailed: of the site, unless the room has its own.
ALTER TABLE sites ADD COLUMN facility_email TEXT NOT NULL DEFAULT '';
ALTER TABLE rooms ADD COLUMN facility_email TEXT NOT NULL DEFAULT '';

CREATE TABLE fault_reports (
    id         INTEGER  PRIMARY KEY AUTOINCREMENT,
    room_id    INTEGER  NOT NULL REFERENCES rooms (id) ON DELETE CASCADE,
    category   TEXT     NOT NULL, -- equipment, cleanliness, temperature, other
    text       TEXT     NOT NULL,
    user_id    INTEGER  REFERENCES users (id) ON DELETE SET NULL, -- who reported it
    done_at    DATETIME,          -- NULL: open
    version    INTEGER  NOT NULL DEFAULT 1,
    created_at DATETIME NOT NULL,
    updated_at DATETIME NOT NULL
);
CREATE INDEX fault_reports_open ON fault_reports (room_id) WHERE done_at IS NULL;

-- +goose Down

DROP TABLE fault_reports;
ALTER TABLE rooms DROP COLUMN facility_email;
ALTER TABLE sites DROP COLUMN facility_email;
