-- +goose Up

-- Persons whose data are erased: users who left, or guests by their address. A delay job carries it out.
CREATE TABLE erasures (
    id          INTEGER  PRIMARY KEY AUTOINCREMENT,
    user_id     INTEGER  REFERENCES users (id), -- null: a guest
    terms       TEXT     NOT NULL,            -- JSON: what to look for; '' once it is done
    done        TEXT     NOT NULL DEFAULT '', -- the last table that is done
    changed     INTEGER  NOT NULL DEFAULT 0,  -- rows
    by_name     TEXT     NOT NULL,
    version     INTEGER  NOT NULL,
    created_at  DATETIME NOT NULL,
    finished_at DATETIME                      -- null: not yet
);

CREATE UNIQUE INDEX erasures_user ON erasures (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX erasures_due ON erasures (created_at, id) WHERE finished_at IS NULL;

-- While a person is erased, names and texts may be rewritten, but not what happened, when and to what.
DROP TRIGGER audit_is_kept;
DROP TRIGGER history_is_kept;
-- +goose StatementBegin
CREATE TRIGGER audit_is_kept BEFORE UPDATE ON audit
WHEN NEW.id <> OLD.id OR NEW.at <> OLD.at OR NEW.action <> OLD.action OR NEW.actor_kind <> OLD.actor_kind OR NEW.actor_id IS NOT OLD.actor_id
    OR NEW.subject <> OLD.subject OR NEW.subject_id <> OLD.subject_id OR NOT EXISTS (SELECT 1 FROM erasures WHERE finished_at IS NULL)
BEGIN
    SELECT RAISE(ABORT, 'audit_append_only');
END;

CREATE TRIGGER history_is_kept BEFORE UPDATE ON history
WHEN NEW.id <> OLD.id OR NEW.meeting_id <> OLD.meeting_id OR NEW.at <> OLD.at OR NEW.action <> OLD.action OR NEW.actor_kind <> OLD.actor_kind
    OR NEW.actor_id IS NOT OLD.actor_id OR NOT EXISTS (SELECT 1 FROM erasures WHERE finished_at IS NULL)
BEGIN
    SELECT RAISE(ABORT, 'history_append_only');
END;
-- +goose StatementEnd

-- +goose Down

DROP TRIGGER history_is_kept;
DROP TRIGGER audit_is_kept;
-- +goose StatementBegin
CREATE TRIGGER audit_is_kept BEFORE UPDATE ON audit
BEGIN
    SELECT RAISE(ABORT, 'audit_append_only');
END;

CREATE TRIGGER history_is_kept BEFORE UPDATE ON history
BEGIN
    SELECT RAISE(ABORT, 'history_append_only');
END;
-- +goose StatementEnd

DROP TABLE erasures;
