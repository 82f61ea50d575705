-- +goose Up

-- A replaced key stays until it expires, so that links in mails go on working.
ALTER TABLE signing_keys
    ADD COLUMN generation bigint NOT NULL DEFAULT 1,
    ADD COLUMN expires_at timestamptz, -- null: the current key
    DROP CONSTRAINT signing_keys_pkey,
    ADD PRIMARY KEY (name, generation);
UPDATE signing_keys SET name = 'links' WHERE name = 'decision links';
UPDATE signing_keys SET name = 'password-links' WHERE name = 'password links';

-- +goose Down

DELETE FROM signing_keys WHERE expires_at IS NOT NULL;
UPDATE signing_keys SET name = 'decision links' WHERE name = 'links';
UPDATE signing_keys SET name = 'password links' WHERE name = 'password-links';
ALTER TABLE signing_keys
    DROP CONSTRAINT signing_keys_pkey,
    ADD PRIMARY KEY (name),
    DROP COLUMN generation,
    DROP COLUMN expires_at;
