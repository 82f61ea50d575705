-- +goose Up

-- What members of groups may do in a room, or in the rooms of a site that have no access of their own.
ALTER TABLE rooms ADD COLUMN access jsonb; -- null: that of the site
ALTER TABLE sites ADD COLUMN access jsonb; -- null: everyone may

-- The groups that access names. They cannot be deleted: without a group, everyone might have access.
CREATE TABLE access_groups (
    group_id bigint NOT NULL REFERENCES groups (id),
    room_id  bigint REFERENCES rooms (id) ON DELETE CASCADE,
    site_id  bigint REFERENCES sites (id) ON DELETE CASCADE
);
CREATE INDEX access_groups_group ON access_groups (group_id);
CREATE INDEX access_groups_room ON access_groups (room_id);
CREATE INDEX access_groups_site ON access_groups (site_id);

-- +goose Down

DROP TABLE access_groups;
ALTER TABLE sites DROP COLUMN access;
ALTER TABLE rooms DROP COLUMN access;
