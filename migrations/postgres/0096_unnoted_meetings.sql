-- +goose Up

-- Meetings that an earlier version booked, whose clocks are noted at start. New ones are none of them.
CREATE INDEX meetings_unnoted ON meetings (id) WHERE shown_start IS NULL;

-- +goose Down
DROP INDEX meetings_unnoted;
