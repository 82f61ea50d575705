-- +goose Up

-- People. They are disabled, never deleted: meetings and their history name them.
CREATE TABLE users (
    id            INTEGER  PRIMARY KEY AUTOINCREMENT,
    email         TEXT     NOT NULL,
    name          TEXT     NOT NULL,
    role          TEXT     NOT NULL CONSTRAINT users_role_known CHECK (role IN ('member', 'manager', 'admin')),
    phone         TEXT     NOT NULL DEFAULT '',
    locale        TEXT     NOT NULL DEFAULT 'en',  -- BCP 47
    timezone      TEXT     NOT NULL DEFAULT 'UTC', -- IANA
    password_hash TEXT     NOT NULL DEFAULT '',    -- PHC string; '': no sign-in by password
    disabled_at   DATETIME,
    version       INTEGER  NOT NULL DEFAULT 1,
    created_at    DATETIME NOT NULL,
    updated_at    DATETIME NOT NULL
);

CREATE UNIQUE INDEX users_email_unique ON users (lower(email));
CREATE INDEX users_active_admins ON users (id) WHERE role = 'admin' AND disabled_at IS NULL;

-- Secrets that people and programs sign in with. Only the SHA-256 of each is here.
CREATE TABLE tokens (
    id           INTEGER  PRIMARY KEY AUTOINCREMENT, -- a revoked token's id is not given again
    user_id      INTEGER  REFERENCES users (id) ON DELETE CASCADE, -- null: a set-up token, older than any user
    kind         TEXT     NOT NULL CONSTRAINT tokens_kind_known CHECK (kind IN ('session', 'api', 'setup')),
    name         TEXT     NOT NULL DEFAULT '',
    hash         TEXT     NOT NULL, -- hexadecimal
    scopes       TEXT,              -- ["meetings:read"]; null: all rights of the user
    expires_at   DATETIME,          -- null: never
    last_used_at DATETIME,
    created_at   DATETIME NOT NULL,
    CONSTRAINT tokens_hash_unique UNIQUE (hash),
    CONSTRAINT tokens_owned CHECK ((kind = 'setup') = (user_id IS NULL))
);

CREATE INDEX tokens_user ON tokens (user_id, kind, id);
CREATE INDEX tokens_expiry ON tokens (expires_at) WHERE expires_at IS NOT NULL;

-- +goose Down

DROP TABLE tokens;
DROP TABLE users;
