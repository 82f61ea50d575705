-- +goose Up

-- When more dates of a series of another calendar are to be booked; null: it is booked as a whole.
ALTER TABLE calendar_objects ADD COLUMN extend_at timestamptz;
CREATE INDEX calendar_objects_extend ON calendar_objects (extend_at, id) WHERE extend_at IS NOT NULL;

-- +goose Down

DROP INDEX calendar_objects_extend;
ALTER TABLE calendar_objects DROP COLUMN extend_at;
