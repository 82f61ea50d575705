-- +goose Up
-- The transaction of a request's change sets saved, so that a retry does not make the change again
-- if the process died before it stored the response. subject is what the change created, such as
-- 'room 12', or ''.
ALTER TABLE idempotency_keys ADD COLUMN saved BOOLEAN NOT NULL DEFAULT 0;
ALTER TABLE idempotency_keys ADD COLUMN subject TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE idempotency_keys DROP COLUMN subject;
ALTER TABLE idempotency_keys DROP COLUMN saved;
