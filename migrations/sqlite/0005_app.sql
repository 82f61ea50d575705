-- +goose Up
-- Answers to POST requests that carried an Idempotency-Key. A leak of this table tells
-- nothing: key is the SHA-256 of the client's key, and body_hash and body are keyed with the
-- key itself, which is not kept.
CREATE TABLE idempotency_keys (
    user_id    INTEGER  NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    key        TEXT     NOT NULL,
    method     TEXT     NOT NULL,
    path       TEXT     NOT NULL,
    body_hash  TEXT     NOT NULL,
    status     INTEGER  NOT NULL DEFAULT 0, -- of the answer; 0 while the request runs
    headers    TEXT     NOT NULL DEFAULT '{}',
    body       BLOB,                        -- of the answer, sealed
    created_at DATETIME NOT NULL,
    expires_at DATETIME NOT NULL,
    PRIMARY KEY (user_id, key)
);
CREATE INDEX idempotency_keys_expires ON idempotency_keys (expires_at);

-- +goose Down
DROP TABLE idempotency_keys;
