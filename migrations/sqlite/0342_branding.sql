-- +goose Up

-- The name, message and logo of the organization: one row.
CREATE TABLE branding (
    id            INTEGER PRIMARY KEY CHECK (id = 1),
    name          text NOT NULL,
    message       text NOT NULL,
    message_until DATETIME, -- NULL: no end
    logo          text NOT NULL, -- hash of the picture; empty: none
    logo_type     text NOT NULL,
    logo_content  BLOB,
    version       INTEGER NOT NULL,
    updated_at    DATETIME NOT NULL
);

-- +goose Down

DROP TABLE branding;
