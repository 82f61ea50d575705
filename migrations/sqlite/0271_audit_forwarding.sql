-- +goose Up

-- Postgres needs the number of the transaction; here all commit in the order of the IDs.
ALTER TABLE audit ADD COLUMN tx INTEGER NOT NULL DEFAULT 0;
CREATE INDEX audit_tx ON audit (tx, id);

-- How far the audit log was sent to another system.
CREATE TABLE audit_forwarding (
    destination TEXT     PRIMARY KEY,
    tx          INTEGER  NOT NULL, -- of the last entry sent
    entry_id    INTEGER  NOT NULL,
    sent        INTEGER  NOT NULL, -- entries so far
    updated_at  DATETIME NOT NULL
);

-- +goose Down

DROP TABLE audit_forwarding;
DROP INDEX audit_tx;
ALTER TABLE audit DROP COLUMN tx;
