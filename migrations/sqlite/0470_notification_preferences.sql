-- +goose Up

-- Which notifications users want, and when. Users without a row have the defaults of the installation.
CREATE TABLE notification_preferences (
    user_id INTEGER PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    choices text NOT NULL, -- channels by kind, JSON; a missing kind: the default; no channels: none
    quiet_from integer, -- minutes after midnight, like the columns below; null: no quiet hours
    quiet_until integer,
    digest text NOT NULL, -- off, today, tomorrow or week
    digest_at integer NOT NULL,
    digest_weekday integer NOT NULL, -- of the digest of a week; 0: Sunday
    digest_zone text NOT NULL, -- of the user when digest_due_at was computed
    digest_due_at DATETIME, -- of the next digest; null: none
    digest_version bigint NOT NULL, -- incremented with digest_due_at
    version bigint NOT NULL, -- incremented by each change of the user
    updated_at DATETIME NOT NULL
);
CREATE INDEX notification_preferences_digest ON notification_preferences (digest_due_at, user_id) WHERE digest_due_at IS NOT NULL;

-- The kinds that people without an account have switched off, by a link in a mail.
CREATE TABLE notification_optouts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    address text NOT NULL, -- email address in lower case
    kind text NOT NULL,
    created_at DATETIME NOT NULL,
    CONSTRAINT notification_optouts_unique UNIQUE (address, kind)
);

-- +goose Down

DROP TABLE notification_optouts;
DROP TABLE notification_preferences;
