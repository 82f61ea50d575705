-- +goose Up

-- The few meetings that no longer hold their rooms: a report of one site finds the others by room.
CREATE INDEX meetings_vacated ON meetings (starts_at, id) WHERE status IN ('cancelled', 'rejected', 'released');

-- +goose Down
DROP INDEX meetings_vacated;
