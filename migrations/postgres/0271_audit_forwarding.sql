-- +goose Up

-- Entries of a transaction that commits late have lower IDs than others that were read before. The numbers
-- of transactions tell which are still to come.
ALTER TABLE audit ADD COLUMN tx bigint NOT NULL DEFAULT CAST(CAST(pg_current_xact_id() AS text) AS bigint);
CREATE INDEX audit_tx ON audit (tx, id);

-- How far the audit log was sent to another system.
CREATE TABLE audit_forwarding (
    destination text        PRIMARY KEY,
    tx          bigint      NOT NULL, -- of the last entry sent
    entry_id    bigint      NOT NULL,
    sent        bigint      NOT NULL, -- entries so far
    updated_at  timestamptz NOT NULL
);

-- +goose Down

DROP TABLE audit_forwarding;
DROP INDEX audit_tx;
ALTER TABLE audit DROP COLUMN tx;
