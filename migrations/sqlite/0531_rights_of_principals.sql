-- +goose Up

-- Whom a user may act for, with the rights that count then: [{"id": 7, "private": false, "manager": true,
-- "admin": false, "groups": [3]}].
DROP TRIGGER delegates_inserted;
DROP TRIGGER delegates_updated;
DROP TRIGGER delegates_deleted;
-- +goose StatementBegin
CREATE TRIGGER delegates_inserted AFTER INSERT ON delegates
BEGIN
    UPDATE users SET acts_for = (
        SELECT json_group_array(json_object('id', user_id, 'private', json(CASE WHEN private THEN 'true' ELSE 'false' END),
            'manager', json(CASE WHEN role IN ('manager', 'admin') THEN 'true' ELSE 'false' END),
            'admin', json(CASE WHEN role = 'admin' THEN 'true' ELSE 'false' END), 'groups', json(group_ids)))
        FROM (SELECT d.user_id, d.private, u.role, u.group_ids FROM delegates d JOIN users u ON u.id = d.user_id WHERE d.delegate_id = NEW.delegate_id ORDER BY d.user_id)
    ) WHERE id = NEW.delegate_id;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER delegates_updated AFTER UPDATE ON delegates
BEGIN
    UPDATE users SET acts_for = (
        SELECT json_group_array(json_object('id', user_id, 'private', json(CASE WHEN private THEN 'true' ELSE 'false' END),
            'manager', json(CASE WHEN role IN ('manager', 'admin') THEN 'true' ELSE 'false' END),
            'admin', json(CASE WHEN role = 'admin' THEN 'true' ELSE 'false' END), 'groups', json(group_ids)))
        FROM (SELECT d.user_id, d.private, u.role, u.group_ids FROM delegates d JOIN users u ON u.id = d.user_id WHERE d.delegate_id = NEW.delegate_id ORDER BY d.user_id)
    ) WHERE id = NEW.delegate_id;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER delegates_deleted AFTER DELETE ON delegates
BEGIN
    UPDATE users SET acts_for = (
        SELECT json_group_array(json_object('id', user_id, 'private', json(CASE WHEN private THEN 'true' ELSE 'false' END),
            'manager', json(CASE WHEN role IN ('manager', 'admin') THEN 'true' ELSE 'false' END),
            'admin', json(CASE WHEN role = 'admin' THEN 'true' ELSE 'false' END), 'groups', json(group_ids)))
        FROM (SELECT d.user_id, d.private, u.role, u.group_ids FROM delegates d JOIN users u ON u.id = d.user_id WHERE d.delegate_id = OLD.delegate_id ORDER BY d.user_id)
    ) WHERE id = OLD.delegate_id;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER principals_changed AFTER UPDATE OF role, group_ids ON users WHEN OLD.role <> NEW.role OR OLD.group_ids <> NEW.group_ids
BEGIN
    UPDATE users SET acts_for = (
        SELECT json_group_array(json_object('id', user_id, 'private', json(CASE WHEN private THEN 'true' ELSE 'false' END),
            'manager', json(CASE WHEN role IN ('manager', 'admin') THEN 'true' ELSE 'false' END),
            'admin', json(CASE WHEN role = 'admin' THEN 'true' ELSE 'false' END), 'groups', json(group_ids)))
        FROM (SELECT d.user_id, d.private, u.role, u.group_ids FROM delegates d JOIN users u ON u.id = d.user_id WHERE d.delegate_id = users.id ORDER BY d.user_id)
    ) WHERE id IN (SELECT delegate_id FROM delegates WHERE user_id = NEW.id);
END;
-- +goose StatementEnd

UPDATE users SET acts_for = (
    SELECT json_group_array(json_object('id', user_id, 'private', json(CASE WHEN private THEN 'true' ELSE 'false' END),
        'manager', json(CASE WHEN role IN ('manager', 'admin') THEN 'true' ELSE 'false' END),
        'admin', json(CASE WHEN role = 'admin' THEN 'true' ELSE 'false' END), 'groups', json(group_ids)))
    FROM (SELECT d.user_id, d.private, u.role, u.group_ids FROM delegates d JOIN users u ON u.id = d.user_id WHERE d.delegate_id = users.id ORDER BY d.user_id)
) WHERE acts_for <> '[]';

-- +goose Down

DROP TRIGGER principals_changed;
DROP TRIGGER delegates_inserted;
DROP TRIGGER delegates_updated;
DROP TRIGGER delegates_deleted;
-- +goose StatementBegin
CREATE TRIGGER delegates_inserted AFTER INSERT ON delegates
BEGIN
    UPDATE users SET acts_for = (
        SELECT json_group_array(json_object('id', user_id, 'private', json(CASE WHEN private THEN 'true' ELSE 'false' END)))
        FROM (SELECT user_id, private FROM delegates WHERE delegate_id = NEW.delegate_id ORDER BY user_id)
    ) WHERE id = NEW.delegate_id;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER delegates_updated AFTER UPDATE ON delegates
BEGIN
    UPDATE users SET acts_for = (
        SELECT json_group_array(json_object('id', user_id, 'private', json(CASE WHEN private THEN 'true' ELSE 'false' END)))
        FROM (SELECT user_id, private FROM delegates WHERE delegate_id = NEW.delegate_id ORDER BY user_id)
    ) WHERE id = NEW.delegate_id;
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER delegates_deleted AFTER DELETE ON delegates
BEGIN
    UPDATE users SET acts_for = (
        SELECT json_group_array(json_object('id', user_id, 'private', json(CASE WHEN private THEN 'true' ELSE 'false' END)))
        FROM (SELECT user_id, private FROM delegates WHERE delegate_id = OLD.delegate_id ORDER BY user_id)
    ) WHERE id = OLD.delegate_id;
END;
-- +goose StatementEnd
