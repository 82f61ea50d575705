-- +goose Up

-- The SEQUENCE of the last mail to calendars about a series or one of its dates, which share a
-- UID. Numbers sent so far were the version of the series, alone or with that of a date.
ALTER TABLE series ADD COLUMN sequence bigint NOT NULL DEFAULT 1;
UPDATE series SET sequence = version + COALESCE((SELECT max(m.version) FROM meetings m WHERE m.series_id = series.id), 0) + 1;

-- +goose Down

ALTER TABLE series DROP COLUMN sequence;
