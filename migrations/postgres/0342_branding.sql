-- +goose Up

-- The name, message and logo of the organization: one row.
CREATE TABLE branding (
    id            bigint PRIMARY KEY CHECK (id = 1),
    name          text NOT NULL,
    message       text NOT NULL,
    message_until timestamptz, -- NULL: no end
    logo          text NOT NULL, -- hash of the picture; empty: none
    logo_type     text NOT NULL,
    logo_content  bytea,
    version       bigint NOT NULL,
    updated_at    timestamptz NOT NULL
);

-- +goose Down

DROP TABLE branding;
