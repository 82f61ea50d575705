-- +goose Up

-- People as OpenID Connect providers know them. A subject is never reused, unlike an address.
CREATE TABLE identities (
    issuer text NOT NULL,
    subject text NOT NULL,
    user_id bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (issuer, subject)
);
CREATE UNIQUE INDEX identities_of_user ON identities (user_id, issuer);

-- +goose Down

DROP TABLE identities;
