-- +goose Up

-- Authenticator apps of users (RFC 6238). The secret is readable, because codes are computed from it.
CREATE TABLE second_factors (
    user_id INTEGER PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    secret text NOT NULL,
    confirmed_at DATETIME, -- null: sign-ins need no code yet
    last_step bigint NOT NULL, -- of the code that was accepted last
    recovery_codes text NOT NULL, -- hashes of unused codes, as JSON
    created_at DATETIME NOT NULL
);

-- +goose Down

DROP TABLE second_factors;
