-- +goose Up

-- What was done to the installation, by whom and from where. What happened to meetings is in
-- history. subject_id is no foreign key: what is told here outlives what it is about.
CREATE TABLE audit (
    id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at           timestamptz NOT NULL,
    action       text        NOT NULL, -- subject.verb
    actor_kind   text        NOT NULL CONSTRAINT audit_actor_known CHECK (actor_kind IN ('user', 'timer', 'system')),
    actor_id     bigint,               -- of a user
    actor_name   text        NOT NULL DEFAULT '',
    address      text        NOT NULL DEFAULT '', -- of the client
    subject      text        NOT NULL, -- what kind of thing
    subject_id   text        NOT NULL DEFAULT '',
    subject_name text        NOT NULL DEFAULT '',
    changes      jsonb,
    reason       text        NOT NULL DEFAULT ''
);

CREATE INDEX audit_at ON audit (at, id);
CREATE INDEX audit_subject ON audit (subject, subject_id, at, id);
CREATE INDEX audit_actor ON audit (actor_id, at, id) WHERE actor_id IS NOT NULL;

-- Nobody rewrites it. What is older than a month may be cleared away.
-- +goose StatementBegin
CREATE FUNCTION audit_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND OLD.at <= now() - interval '30 days' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'audit_append_only';
END;
$$;
-- +goose StatementEnd

CREATE TRIGGER audit_is_kept BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_append_only();
CREATE TRIGGER audit_is_not_emptied BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_append_only();

ALTER TABLE history ADD COLUMN address text NOT NULL DEFAULT ''; -- of the client

-- What happened to all meetings, the latest first.
CREATE INDEX history_at ON history (at, id);
CREATE INDEX history_actor ON history (actor_id, at, id) WHERE actor_id IS NOT NULL;

-- The ledger, looked through by who was told and by when.
CREATE INDEX notifications_address ON notifications (lower(address), id);
CREATE INDEX notifications_created ON notifications (created_at, id);

-- What went wrong with the attempts, the first fifty: [{"at", "attempt", "error"}].
ALTER TABLE notifications ADD COLUMN failures jsonb NOT NULL DEFAULT '[]';

-- +goose Down

ALTER TABLE notifications DROP COLUMN failures;
DROP INDEX notifications_created;
DROP INDEX notifications_address;
DROP INDEX history_actor;
DROP INDEX history_at;
ALTER TABLE history DROP COLUMN address;
DROP TABLE audit;
DROP FUNCTION audit_append_only();
