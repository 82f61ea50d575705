-- +goose Up

-- Where a session began, so that its user recognizes it. Both are '' for other tokens.
ALTER TABLE tokens ADD COLUMN address text NOT NULL DEFAULT ''; -- of the client
ALTER TABLE tokens ADD COLUMN device text NOT NULL DEFAULT ''; -- such as Firefox on Windows

-- +goose Down

ALTER TABLE tokens DROP COLUMN device;
ALTER TABLE tokens DROP COLUMN address;
