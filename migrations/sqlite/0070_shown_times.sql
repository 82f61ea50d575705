-- +goose Up

-- What clocks showed when times were set: the rules of a zone may change afterwards. NULL: they
-- were set by an earlier version.
ALTER TABLE meetings ADD COLUMN shown_start TEXT;
ALTER TABLE meetings ADD COLUMN shown_end TEXT;
ALTER TABLE meetings ADD COLUMN original_wall TEXT;

-- A date is known by what clocks show at it.
CREATE UNIQUE INDEX meetings_series_wall ON meetings (series_id, original_wall)
    WHERE original_start IS NOT NULL AND status NOT IN ('cancelled', 'rejected');

-- What rules of zones the installation ran with last.
CREATE TABLE zone_rules (
    zone       TEXT PRIMARY KEY, -- IANA
    rules      TEXT NOT NULL,    -- a hash of its changes of clocks from a year ago on
    changed_at DATETIME            -- when other rules than before were seen last; NULL: never
);

-- +goose Down

DROP TABLE zone_rules;
DROP INDEX meetings_series_wall;
ALTER TABLE meetings DROP COLUMN original_wall;
ALTER TABLE meetings DROP COLUMN shown_end;
ALTER TABLE meetings DROP COLUMN shown_start;
