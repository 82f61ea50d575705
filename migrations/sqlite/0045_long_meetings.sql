-- +goose Up

-- How many days before an instant a row that overlaps it can begin: 1 for at most a day, else the
-- next power of 4. What overlaps a span is found by its start, one look-back after the other, so
-- that a long meeting costs nothing to those that look for others.
ALTER TABLE meetings ADD COLUMN look_back_days INTEGER GENERATED ALWAYS AS (CASE
    WHEN ends_at - starts_at <= 86400000000 THEN 1
    WHEN ends_at - starts_at <= 4 * 86400000000 THEN 4
    WHEN ends_at - starts_at <= 16 * 86400000000 THEN 16
    WHEN ends_at - starts_at <= 64 * 86400000000 THEN 64
    WHEN ends_at - starts_at <= 256 * 86400000000 THEN 256
    ELSE 100000 END) VIRTUAL;
ALTER TABLE occupancies ADD COLUMN look_back_days INTEGER GENERATED ALWAYS AS (CASE
    WHEN ends_at - starts_at <= 86400000000 THEN 1
    WHEN ends_at - starts_at <= 4 * 86400000000 THEN 4
    WHEN ends_at - starts_at <= 16 * 86400000000 THEN 16
    WHEN ends_at - starts_at <= 64 * 86400000000 THEN 64
    WHEN ends_at - starts_at <= 256 * 86400000000 THEN 256
    ELSE 100000 END) VIRTUAL;

CREATE INDEX meetings_long ON meetings (look_back_days, starts_at, ends_at, id) WHERE look_back_days > 1;
CREATE INDEX occupancies_long ON occupancies (look_back_days, starts_at, ends_at, room_id) WHERE look_back_days > 1;
DROP INDEX meetings_duration;

-- +goose Down

CREATE INDEX meetings_duration ON meetings (ends_at - starts_at);
DROP INDEX occupancies_long;
DROP INDEX meetings_long;
ALTER TABLE occupancies DROP COLUMN look_back_days;
ALTER TABLE meetings DROP COLUMN look_back_days;
