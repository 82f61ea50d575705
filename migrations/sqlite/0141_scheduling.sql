-- +goose Up

-- The mail addresses at which rooms and sites answer invitations: local parts in lower case. The table
-- keeps rooms and sites from sharing one.
ALTER TABLE rooms ADD COLUMN address text NOT NULL DEFAULT ''; -- '': none
ALTER TABLE sites ADD COLUMN address text NOT NULL DEFAULT '';
CREATE TABLE mail_addresses (
    address text NOT NULL PRIMARY KEY,
    room_id INTEGER REFERENCES rooms (id) ON DELETE CASCADE,
    site_id INTEGER REFERENCES sites (id) ON DELETE CASCADE,
    CHECK ((room_id IS NULL) <> (site_id IS NULL))
);
CREATE INDEX mail_addresses_room ON mail_addresses (room_id) WHERE room_id IS NOT NULL;
CREATE INDEX mail_addresses_site ON mail_addresses (site_id) WHERE site_id IS NOT NULL;

-- How a meeting or series came from a calendar program that goes on changing it; '': it was booked
-- here, or imported.
ALTER TABLE meetings ADD COLUMN origin text NOT NULL DEFAULT '' CHECK (origin IN ('', 'mail', 'caldav'));
ALTER TABLE series ADD COLUMN origin text NOT NULL DEFAULT '' CHECK (origin IN ('', 'mail', 'caldav'));

-- The newest version of each date of an event: the event itself, and the dates that differ.
CREATE TABLE calendar_instances (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    object_id     INTEGER      NOT NULL REFERENCES calendar_objects (id) ON DELETE CASCADE,
    recurrence_id text        NOT NULL,  -- the date that it replaces, in UTC; '': the event itself
    sequence      INTEGER      NOT NULL,
    dtstamp       DATETIME,
    ics           text        NOT NULL,  -- the event and its time zones as they were received
    CONSTRAINT calendar_instances_unique UNIQUE (object_id, recurrence_id)
);

-- What each invited address answered last, by date.
CREATE TABLE calendar_answers (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    object_id     INTEGER      NOT NULL REFERENCES calendar_objects (id) ON DELETE CASCADE,
    recurrence_id text        NOT NULL,  -- as in calendar_instances
    address       text        NOT NULL,  -- local part, of a room or of a site
    room_id       INTEGER REFERENCES rooms (id) ON DELETE CASCADE, -- that it stands for; null: none was found
    sequence      INTEGER      NOT NULL,  -- of the version that is answered
    dtstamp       DATETIME,
    partstat      text        NOT NULL,  -- as in iTIP; '': the address is no longer invited, even if the event was never seen
    reason        text        NOT NULL,
    comment       text        NOT NULL,  -- as it was sent
    message_id    text        NOT NULL,  -- of the mail that is answered; '': no mail is sent
    recipient     text        NOT NULL,  -- of the answer
    number        INTEGER      NOT NULL,  -- of answers so far
    CONSTRAINT calendar_answers_unique UNIQUE (object_id, recurrence_id, address)
);
CREATE INDEX calendar_answers_room ON calendar_answers (room_id) WHERE room_id IS NOT NULL;

-- Meetings that changed since their rooms last answered.
CREATE TABLE calendar_changes (
    meeting_id INTEGER      NOT NULL PRIMARY KEY REFERENCES meetings (id) ON DELETE CASCADE,
    at         DATETIME NOT NULL
);
CREATE INDEX calendar_changes_at ON calendar_changes (at, meeting_id);

-- +goose StatementBegin
CREATE TRIGGER history_of_calendars AFTER INSERT ON history
WHEN NEW.action IN ('confirmed', 'rejected', 'changed', 'cancelled', 'released')
BEGIN
    INSERT INTO calendar_changes (meeting_id, at)
    SELECT m.id, NEW.at FROM meetings m WHERE m.id = NEW.meeting_id AND m.origin <> ''
    ON CONFLICT (meeting_id) DO UPDATE SET at = excluded.at;
END;
-- +goose StatementEnd

-- +goose Down

DROP TRIGGER history_of_calendars;
DROP TABLE calendar_changes;
DROP TABLE calendar_answers;
DROP TABLE calendar_instances;
ALTER TABLE series DROP COLUMN origin;
ALTER TABLE meetings DROP COLUMN origin;
DROP TABLE mail_addresses;
ALTER TABLE sites DROP COLUMN address;
ALTER TABLE rooms DROP COLUMN address;
