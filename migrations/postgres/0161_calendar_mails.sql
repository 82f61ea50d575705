-- +goose Up

-- Whether users receive their own meetings as mails for their calendars.
ALTER TABLE users ADD COLUMN calendar_mails boolean NOT NULL DEFAULT false;

-- +goose Down

ALTER TABLE users DROP COLUMN calendar_mails;
