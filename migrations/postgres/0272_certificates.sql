-- +goose Up

-- Certificates by ACME with their keys, the key of the account, and open challenges.
CREATE TABLE certificates (
    name       text        PRIMARY KEY,
    data       bytea       NOT NULL,
    updated_at timestamptz NOT NULL
);

-- +goose Down

DROP TABLE certificates;
