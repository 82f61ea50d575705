-- +goose Up

-- Certificates by ACME with their keys, the key of the account, and open challenges.
CREATE TABLE certificates (
    name       TEXT     PRIMARY KEY,
    data       BLOB     NOT NULL,
    updated_at DATETIME NOT NULL
);

-- +goose Down

DROP TABLE certificates;
