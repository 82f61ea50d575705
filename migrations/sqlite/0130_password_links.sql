-- +goose Up

-- One-time links by which users choose a password. Only the SHA-256 of each secret is here.
CREATE TABLE password_links (
    id         INTEGER  PRIMARY KEY AUTOINCREMENT,
    user_id    INTEGER  NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind       TEXT     NOT NULL CONSTRAINT password_links_kind_known CHECK (kind IN ('invitation', 'reset')),
    hash       TEXT     NOT NULL CONSTRAINT password_links_hash_unique UNIQUE, -- hexadecimal
    expires_at DATETIME NOT NULL,
    created_at DATETIME NOT NULL
);

CREATE INDEX password_links_user ON password_links (user_id, kind);
CREATE INDEX password_links_expiry ON password_links (expires_at);

ALTER TABLE users ADD COLUMN invited_until DATETIME; -- end of the open invitation; null: none, or accepted

-- +goose Down

ALTER TABLE users DROP COLUMN invited_until;
DROP TABLE password_links;
