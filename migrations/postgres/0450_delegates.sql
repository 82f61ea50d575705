-- +goose Up

-- Users who may act for another user: book, change, cancel, respond and check in.
CREATE TABLE delegates (
    user_id     bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    delegate_id bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    private     boolean     NOT NULL, -- whether private meetings are included
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (user_id, delegate_id),
    CONSTRAINT delegates_not_self CHECK (user_id <> delegate_id)
);
CREATE INDEX delegates_delegate ON delegates (delegate_id);

-- Whom a user may act for, by ID: [{"id": 7, "private": false}]. So whoever reads a user knows it. Changing it
-- waits for transactions that rely on it, because those lock the user.
ALTER TABLE users ADD COLUMN acts_for text NOT NULL DEFAULT '[]';

-- +goose StatementBegin
CREATE FUNCTION delegates_changed() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE TRIGGER delegates_changed AFTER INSERT OR UPDATE OR DELETE ON delegates
    FOR EACH ROW EXECUTE FUNCTION delegates_changed();

-- A disabled user neither acts for others nor is represented.
-- +goose StatementBegin
CREATE FUNCTION delegates_end() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM delegates WHERE user_id = NEW.id OR delegate_id = NEW.id;
    RETURN NULL;
END;
$$;
-- +goose StatementEnd
CREATE TRIGGER delegates_end AFTER UPDATE OF disabled_at ON users
    FOR EACH ROW WHEN (OLD.disabled_at IS NULL AND NEW.disabled_at IS NOT NULL) EXECUTE FUNCTION delegates_end();

-- Who booked a meeting for its organizer; null: the organizer.
ALTER TABLE meetings ADD COLUMN booked_by bigint REFERENCES users (id);

-- +goose Down

ALTER TABLE meetings DROP COLUMN booked_by;
DROP TRIGGER delegates_end ON users;
DROP FUNCTION delegates_end();
DROP TABLE delegates;
DROP FUNCTION delegates_changed();
ALTER TABLE users DROP COLUMN acts_for;
