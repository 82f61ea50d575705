-- +goose Up

-- Groups of users, for access to rooms. Those with a source belong to an identity provider, which decides
-- who is in them.
CREATE TABLE groups (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        text     NOT NULL,
    source      text     NOT NULL DEFAULT '', -- such as oidc:corp, ldap:corp, scim; '': none
    external_id text     NOT NULL DEFAULT '', -- at the source
    version     bigint   NOT NULL,
    created_at  DATETIME NOT NULL,
    updated_at  DATETIME NOT NULL,
    CONSTRAINT groups_external CHECK ((source = '') = (external_id = ''))
);
CREATE UNIQUE INDEX groups_name_unique ON groups (fold(name));
CREATE UNIQUE INDEX groups_external_unique ON groups (source, external_id) WHERE source <> '';

CREATE TABLE group_members (
    user_id  bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    group_id bigint NOT NULL REFERENCES groups (id) ON DELETE CASCADE,
    PRIMARY KEY (user_id, group_id)
);
CREATE INDEX group_members_group ON group_members (group_id, user_id);

-- The IDs of a user's groups, ascending, so that whoever reads a user knows the groups.
ALTER TABLE users ADD COLUMN group_ids text NOT NULL DEFAULT '[]';

-- +goose StatementBegin
CREATE TRIGGER group_members_inserted AFTER INSERT ON group_members
BEGIN
    UPDATE users SET group_ids = (
        SELECT json_group_array(group_id) FROM (SELECT group_id FROM group_members WHERE user_id = NEW.user_id ORDER BY group_id)
    ) WHERE id = NEW.user_id;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER group_members_deleted AFTER DELETE ON group_members
BEGIN
    UPDATE users SET group_ids = (
        SELECT json_group_array(group_id) FROM (SELECT group_id FROM group_members WHERE user_id = OLD.user_id ORDER BY group_id)
    ) WHERE id = OLD.user_id;
END;
-- +goose StatementEnd

-- +goose Down

DROP TABLE group_members;
DROP TABLE groups;
ALTER TABLE users DROP COLUMN group_ids;
