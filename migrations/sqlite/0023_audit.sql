-- +goose Up

-- What was done to the installation, by whom and from where. What happened to meetings is in
-- history. subject_id is no foreign key: what is told here outlives what it is about.
CREATE TABLE audit (
    id           INTEGER  PRIMARY KEY AUTOINCREMENT,
    at           DATETIME NOT NULL,
    action       TEXT     NOT NULL, -- subject.verb
    actor_kind   TEXT     NOT NULL CONSTRAINT audit_actor_known CHECK (actor_kind IN ('user', 'timer', 'system')),
    actor_id     INTEGER,           -- of a user
    actor_name   TEXT     NOT NULL DEFAULT '',
    address      TEXT     NOT NULL DEFAULT '', -- of the client
    subject      TEXT     NOT NULL, -- what kind of thing
    subject_id   TEXT     NOT NULL DEFAULT '',
    subject_name TEXT     NOT NULL DEFAULT '',
    changes      TEXT,
    reason       TEXT     NOT NULL DEFAULT ''
);

CREATE INDEX audit_at ON audit (at, id);
CREATE INDEX audit_subject ON audit (subject, subject_id, at, id);
CREATE INDEX audit_actor ON audit (actor_id, at, id) WHERE actor_id IS NOT NULL;

-- Nobody rewrites it. What is older than a month may be cleared away.
-- +goose StatementBegin
CREATE TRIGGER audit_is_kept BEFORE UPDATE ON audit
BEGIN
    SELECT RAISE(ABORT, 'audit_append_only');
END;

CREATE TRIGGER audit_is_kept_a_month BEFORE DELETE ON audit
WHEN OLD.at > (unixepoch() - 30 * 86400) * 1000000
BEGIN
    SELECT RAISE(ABORT, 'audit_append_only');
END;
-- +goose StatementEnd

ALTER TABLE history ADD COLUMN address TEXT NOT NULL DEFAULT ''; -- of the client

-- What happened to all meetings, the latest first.
CREATE INDEX history_at ON history (at, id);
CREATE INDEX history_actor ON history (actor_id, at, id) WHERE actor_id IS NOT NULL;

-- The ledger, looked through by who was told and by when.
CREATE INDEX notifications_address ON notifications (lower(address), id);
CREATE INDEX notifications_created ON notifications (created_at, id);

-- What went wrong with the attempts, the first fifty: [{"at", "attempt", "error"}].
ALTER TABLE notifications ADD COLUMN failures TEXT NOT NULL DEFAULT '[]';

-- +goose Down

ALTER TABLE notifications DROP COLUMN failures;
DROP INDEX notifications_created;
DROP INDEX notifications_address;
DROP INDEX history_actor;
DROP INDEX history_at;
ALTER TABLE history DROP COLUMN address;
DROP TABLE audit;
