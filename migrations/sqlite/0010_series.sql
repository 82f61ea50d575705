-- +goose Up

-- A series is a rule by which meetings recur; each of its dates is a row of meetings. Times are
-- those of clocks in its zone, so they are texts without one.
CREATE TABLE series (
    id                INTEGER  PRIMARY KEY AUTOINCREMENT, -- an id names mails and never comes back
    organizer_id      INTEGER  NOT NULL CONSTRAINT series_organizer REFERENCES users (id),
    previous_id       INTEGER  CONSTRAINT series_previous REFERENCES series (id), -- it was split off
    title             TEXT     NOT NULL,
    description       TEXT     NOT NULL DEFAULT '',
    timezone          TEXT     NOT NULL, -- IANA
    starts            TEXT     NOT NULL, -- of the first date: 2027-02-10T09:00:00
    ends              TEXT     NOT NULL,
    rrule             TEXT     NOT NULL, -- RFC 5545
    exdates           TEXT     NOT NULL DEFAULT '[]', -- 2027-02-10 or 2027-02-10T09:00:00
    rdates            TEXT     NOT NULL DEFAULT '[]',
    room_ids          TEXT     NOT NULL,
    attendees         TEXT     NOT NULL DEFAULT '[]',
    reminders         TEXT     NOT NULL DEFAULT '[]',
    default_reminders BOOLEAN  NOT NULL DEFAULT false,
    visibility        TEXT     NOT NULL CONSTRAINT series_visibility_known CHECK (visibility IN ('public', 'private')),
    cancelled_at      DATETIME, -- as a whole
    version           INTEGER  NOT NULL DEFAULT 1,
    created_at        DATETIME NOT NULL,
    updated_at        DATETIME NOT NULL
);

CREATE INDEX series_previous ON series (previous_id) WHERE previous_id IS NOT NULL;

-- original_start is when the rule would have it; null: the series has no such date any more.
ALTER TABLE meetings ADD COLUMN series_id INTEGER CONSTRAINT meetings_series REFERENCES series (id);
ALTER TABLE meetings ADD COLUMN original_start DATETIME;

-- A date takes place once, whoever adds it and when.
CREATE UNIQUE INDEX meetings_series_date ON meetings (series_id, original_start)
    WHERE series_id IS NOT NULL AND status NOT IN ('cancelled', 'rejected');
CREATE INDEX meetings_series ON meetings (series_id, starts_at, id) WHERE series_id IS NOT NULL;

-- +goose Down

DROP INDEX meetings_series;
DROP INDEX meetings_series_date;
ALTER TABLE meetings DROP COLUMN original_start;
ALTER TABLE meetings DROP COLUMN series_id;
DROP TABLE series;
