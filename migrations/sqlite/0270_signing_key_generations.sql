-- +goose Up

-- A replaced key stays until it expires, so that links in mails go on working.
CREATE TABLE signing_keys_new (
    name       TEXT     NOT NULL,
    generation INTEGER  NOT NULL DEFAULT 1,
    key        BLOB     NOT NULL,
    created_at DATETIME NOT NULL,
    expires_at DATETIME, -- null: the current key
    PRIMARY KEY (name, generation)
);
INSERT INTO signing_keys_new (name, key, created_at)
SELECT CASE name WHEN 'decision links' THEN 'links' WHEN 'password links' THEN 'password-links' ELSE name END, key, created_at FROM signing_keys;
DROP TABLE signing_keys;
ALTER TABLE signing_keys_new RENAME TO signing_keys;

-- +goose Down

CREATE TABLE signing_keys_old (
    name       TEXT     PRIMARY KEY,
    key        BLOB     NOT NULL,
    created_at DATETIME NOT NULL
);
INSERT INTO signing_keys_old (name, key, created_at)
SELECT CASE name WHEN 'links' THEN 'decision links' WHEN 'password-links' THEN 'password links' ELSE name END, key, created_at FROM signing_keys WHERE expires_at IS NULL;
DROP TABLE signing_keys;
ALTER TABLE signing_keys_old RENAME TO signing_keys;
