-- +goose Up

-- The domain of the mail address that calendars name as the organizer of a meeting or series, so that
-- responses by mail arrive here; '': they name the organizer's own address.
ALTER TABLE meetings ADD COLUMN reply_domain text NOT NULL DEFAULT '';
ALTER TABLE series ADD COLUMN reply_domain text NOT NULL DEFAULT '';
CREATE INDEX series_first_meeting ON series (first_meeting_id) WHERE first_meeting_id IS NOT NULL;

-- The newest response by mail of each attendee, by date.
CREATE TABLE calendar_replies (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    meeting_id    INTEGER REFERENCES meetings (id) ON DELETE CASCADE,
    series_id     INTEGER REFERENCES series (id) ON DELETE CASCADE,
    uid           text NOT NULL,         -- of the meeting or series in calendars
    recurrence_id text NOT NULL,         -- the date, in UTC; '': all
    email         text NOT NULL,         -- of the attendee, in lower case
    sequence      INTEGER NOT NULL,          -- of the version that is answered
    dtstamp       DATETIME,                   -- of the response
    CONSTRAINT calendar_replies_unique UNIQUE (uid, email, recurrence_id)
);
CREATE INDEX calendar_replies_meeting ON calendar_replies (meeting_id) WHERE meeting_id IS NOT NULL;
CREATE INDEX calendar_replies_series ON calendar_replies (series_id) WHERE series_id IS NOT NULL;

-- +goose Down

DROP TABLE calendar_replies;
DROP INDEX series_first_meeting;
ALTER TABLE series DROP COLUMN reply_domain;
ALTER TABLE meetings DROP COLUMN reply_domain;
