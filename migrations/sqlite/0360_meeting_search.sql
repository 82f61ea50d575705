-- +goose Up

-- An index of what searches of meetings compare, by three characters. search_text is a function of the
-- program: title, description and values of custom fields, as package app/database/fold returns them.
CREATE VIRTUAL TABLE meeting_search USING fts5(body, content = '', contentless_delete = 1, detail = none, tokenize = 'trigram');

INSERT INTO meeting_search (rowid, body) SELECT id, search_text(title, description, fields) FROM meetings;

-- +goose StatementBegin
CREATE TRIGGER meetings_search_added AFTER INSERT ON meetings
BEGIN
    INSERT INTO meeting_search (rowid, body) VALUES (NEW.id, search_text(NEW.title, NEW.description, NEW.fields));
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER meetings_search_changed AFTER UPDATE OF title, description, fields ON meetings
WHEN NEW.title IS NOT OLD.title OR NEW.description IS NOT OLD.description OR NEW.fields IS NOT OLD.fields
BEGIN
    UPDATE meeting_search SET body = search_text(NEW.title, NEW.description, NEW.fields) WHERE rowid = NEW.id;
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER meetings_search_removed AFTER DELETE ON meetings
BEGIN
    DELETE FROM meeting_search WHERE rowid = OLD.id;
END;
-- +goose StatementEnd

-- +goose Down

DROP TRIGGER meetings_search_removed;
DROP TRIGGER meetings_search_changed;
DROP TRIGGER meetings_search_added;
DROP TABLE meeting_search;
