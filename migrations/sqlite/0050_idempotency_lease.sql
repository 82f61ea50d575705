-- +goose Up
-- A running request renews its lease; without it the request has lost its process. The owner is
-- the attempt that holds the key, so that a later attempt is not changed by an earlier one.
ALTER TABLE idempotency_keys ADD COLUMN owner text NOT NULL DEFAULT '';
ALTER TABLE idempotency_keys ADD COLUMN lease_until DATETIME NOT NULL DEFAULT '2020-01-01 00:00:00+00:00';

-- +goose Down
ALTER TABLE idempotency_keys DROP COLUMN lease_until;
ALTER TABLE idempotency_keys DROP COLUMN owner;
