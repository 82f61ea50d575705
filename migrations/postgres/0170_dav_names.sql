-- +goose Up

-- Programs ask for events by name, 100 at a time.
CREATE INDEX dav_changes_name ON dav_changes (collection, name);

-- +goose Down

DROP INDEX dav_changes_name;
