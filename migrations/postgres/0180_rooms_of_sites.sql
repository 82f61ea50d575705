-- +goose Up
-- The rooms of a site in the order of lists.
DROP INDEX rooms_site;
CREATE INDEX rooms_site ON rooms (site_id, lower(name), id) WHERE deleted_at IS NULL;

-- +goose Down
DROP INDEX rooms_site;
CREATE INDEX rooms_site ON rooms (site_id) WHERE deleted_at IS NULL;
