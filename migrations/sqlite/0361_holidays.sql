-- +goose Up

-- Calendars of whole days on which sites are closed, such as public holidays.
CREATE TABLE holiday_calendars (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT     NOT NULL,
    site_ids   TEXT     NOT NULL, -- empty: all sites, and rooms without a site
    days       TEXT     NOT NULL, -- [{uid, first, last, name}], dates, by first
    version    INTEGER  NOT NULL DEFAULT 1,
    created_at DATETIME NOT NULL,
    updated_at DATETIME NOT NULL
);

-- Blackouts that follow a calendar; NULL: of nobody but their admins.
ALTER TABLE blackouts ADD COLUMN calendar_id INTEGER CONSTRAINT blackouts_calendar REFERENCES holiday_calendars (id);
CREATE INDEX blackouts_calendar ON blackouts (calendar_id, ends_at) WHERE calendar_id IS NOT NULL;

-- +goose Down

DELETE FROM blackouts WHERE calendar_id IS NOT NULL;
DROP INDEX blackouts_calendar;
ALTER TABLE blackouts DROP COLUMN calendar_id;
DROP TABLE holiday_calendars;
