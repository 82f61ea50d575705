-- +goose Up

-- Users who were asked to decide on the request, so that those who become approvers later are
-- asked once. Null: not known, for requests of earlier releases.
ALTER TABLE approvals ADD COLUMN told jsonb;

-- +goose Down

ALTER TABLE approvals DROP COLUMN told;
