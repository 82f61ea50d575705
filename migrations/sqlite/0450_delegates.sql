-- +goose Up

-- Users who may act for another user: book, change, cancel, respond and check in.
CREATE TABLE delegates (
    user_id     bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    delegate_id bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    private     boolean  NOT NULL, -- whether private meetings are included
    created_at  DATETIME NOT NULL,
    PRIMARY KEY (user_id, delegate_id),
    CONSTRAINT delegates_not_self CHECK (user_id <> delegate_id)
);
CREATE INDEX delegates_delegate ON delegates (delegate_id);

-- Whom a user may act for, by ID: [{"id": 7, "private": false}]. So whoever reads a user knows it.
ALTER TABLE users ADD COLUMN acts_for text NOT NULL DEFAULT '[]';

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
-- A disabled user neither acts for others nor is represented.
-- +goose StatementBegin
CREATE TRIGGER delegates_end AFTER UPDATE OF disabled_at ON users WHEN OLD.disabled_at IS NULL AND NEW.disabled_at IS NOT NULL
BEGIN
    DELETE FROM delegates WHERE user_id = NEW.id OR delegate_id = NEW.id;
END;
-- +goose StatementEnd

-- Who booked a meeting for its organizer; null: the organizer.
ALTER TABLE meetings ADD COLUMN booked_by bigint REFERENCES users (id);

-- +goose Down

ALTER TABLE meetings DROP COLUMN booked_by;
DROP TRIGGER delegates_end;
DROP TABLE delegates;
ALTER TABLE users DROP COLUMN acts_for;
