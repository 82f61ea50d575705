-- +goose Up
-- Answers to POST requests that carried an Idempotency-Key. A leak of this table tells
-- nothing: key is the SHA-256 of the client's key, and body_hash and body are keyed with the
-- key itself, which is not kept.
CREATE TABLE idempotency_keys (
    user_id    bigint      NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    key        text        NOT NULL,
    method     text        NOT NULL,
    path       text        NOT NULL,
    body_hash  text        NOT NULL,
    status     integer     NOT NULL DEFAULT 0, -- of the answer; 0 while the request runs
    headers    jsonb       NOT NULL DEFAULT '{}',
    body       bytea,                          -- of the answer, sealed
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, key)
);
CREATE INDEX idempotency_keys_expires ON idempotency_keys (expires_at);

-- +goose Down
DROP TABLE idempotency_keys;
