-- +goose Up

-- Rooms in the order in which they fit who looks for one: by capacity, unknown last.
CREATE INDEX rooms_fitting ON rooms ((capacity = 0), capacity, lower(name), id) WHERE deleted_at IS NULL AND active;

-- +goose Down

DROP INDEX rooms_fitting;
