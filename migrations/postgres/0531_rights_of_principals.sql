-- +goose Up

-- Whom a user may act for, with the rights that count then: [{"id": 7, "private": false, "manager": true,
-- "admin": false, "groups": [3]}]. So a change of these rights waits for transactions of delegates that rely on
-- them, because those lock the delegate.
-- +goose StatementBegin
CREATE FUNCTION acts_for(delegate bigint) RETURNS text LANGUAGE sql AS $$
    SELECT COALESCE(CAST(json_agg(json_build_object('id', d.user_id, 'private', d.private,
        'manager', u.role IN ('manager', 'admin'), 'admin', u.role = 'admin', 'groups', CAST(u.group_ids AS json)) ORDER BY d.user_id) AS text), '[]')
    FROM delegates d JOIN users u ON u.id = d.user_id WHERE d.delegate_id = delegate
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION delegates_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    delegate bigint := COALESCE(NEW.delegate_id, OLD.delegate_id);
BEGIN
    UPDATE users SET acts_for = acts_for(delegate) WHERE id = delegate;
    RETURN NULL;
END;
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION principals_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM users WHERE id IN (SELECT delegate_id FROM delegates WHERE user_id = NEW.id) ORDER BY id FOR NO KEY UPDATE; -- two changes never wait for each other
    UPDATE users SET acts_for = acts_for(id) WHERE id IN (SELECT delegate_id FROM delegates WHERE user_id = NEW.id);
    RETURN NULL;
END;
$$;
-- +goose StatementEnd
CREATE TRIGGER principals_changed AFTER UPDATE OF role, group_ids ON users
    FOR EACH ROW WHEN (OLD.role <> NEW.role OR OLD.group_ids <> NEW.group_ids) EXECUTE FUNCTION principals_changed();

UPDATE users SET acts_for = acts_for(id) WHERE acts_for <> '[]';

-- +goose Down

DROP TRIGGER principals_changed ON users;
DROP FUNCTION principals_changed();
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION delegates_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    delegate bigint := COALESCE(NEW.delegate_id, OLD.delegate_id);
BEGIN
    UPDATE users SET acts_for = (
        SELECT COALESCE(CAST(json_agg(json_build_object('id', user_id, 'private', private) ORDER BY user_id) AS text), '[]')
        FROM delegates WHERE delegate_id = delegate
    ) WHERE id = delegate;
    RETURN NULL;
END;
$$;
-- +goose StatementEnd
DROP FUNCTION acts_for(bigint);
