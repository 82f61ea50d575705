-- +goose Up

-- Email addresses that bounced, or whose owner complained. Nothing is sent to them until they are cleared.
CREATE TABLE email_bounces (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    address text NOT NULL, -- in lower case
    source text NOT NULL CONSTRAINT email_bounces_source CHECK (source IN ('smtp', 'report', 'provider')),
    reason text NOT NULL,
    message_id text NOT NULL, -- of the mail; '': not known
    bounced_at DATETIME NOT NULL, -- last
    cleared_at DATETIME, -- by an administrator; null: nothing is sent to the address
    CONSTRAINT email_bounces_address_unique UNIQUE (address)
);
CREATE INDEX email_bounces_bounced ON email_bounces (bounced_at, id);

-- +goose Down

DROP TABLE email_bounces;
