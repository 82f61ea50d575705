-- +goose Up

-- Users as a company's directory of people writes them (SCIM).
CREATE TABLE provisioned_users (
    user_id bigint PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    user_name text NOT NULL, -- unique among them, ignoring case; often an address
    external_id text NOT NULL, -- at the directory; '': none
    given_name text NOT NULL,
    family_name text NOT NULL,
    removed_at timestamptz -- the directory has deleted the user and no longer sees it
);
CREATE UNIQUE INDEX provisioned_users_name_unique ON provisioned_users (lower(user_name));
CREATE INDEX provisioned_users_external ON provisioned_users (external_id) WHERE external_id <> '';

-- +goose Down

DROP TABLE provisioned_users;
