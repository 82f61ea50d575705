-- +goose Up

-- Mails for rooms, as they arrived. A mail server is told that a mail was accepted once its rows are
-- committed. A mail that is delivered twice is one row per recipient.
CREATE TABLE inbox (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    source        text NOT NULL CONSTRAINT inbox_source_known CHECK (source IN ('lmtp', 'imap', 'upload')),
    sender        text NOT NULL,             -- of the envelope; '': none
    recipient     text NOT NULL,             -- in lower case
    mail_from     text NOT NULL,             -- the From header, in lower case; '': none
    subject       text NOT NULL,
    message_id    text NOT NULL,
    digest        text NOT NULL,             -- SHA-256 of the mail without its trace, hexadecimal
    uid           text NOT NULL,             -- of the first event; '': none
    method        text NOT NULL,
    verdict       text NOT NULL,
    reason        text NOT NULL,
    state         text NOT NULL
        CONSTRAINT inbox_state_known CHECK (state IN ('new', 'done', 'outdated', 'refused', 'quarantined', 'dead')),
    outcome       text NOT NULL DEFAULT '',  -- JSON; '': not processed
    last_error    text NOT NULL DEFAULT '',
    version       INTEGER NOT NULL,           -- raised by each release and retry
    received_at   DATETIME NOT NULL,
    due_at        DATETIME NOT NULL,
    processed_at  DATETIME,
    raw           BLOB NOT NULL,
    CONSTRAINT inbox_digest_unique UNIQUE (recipient, digest)
);

CREATE INDEX inbox_due ON inbox (due_at, id) WHERE state = 'new';
CREATE INDEX inbox_waiting ON inbox (uid, id) WHERE state = 'new';
CREATE INDEX inbox_states ON inbox (state, id);
CREATE INDEX inbox_received ON inbox (received_at);

-- +goose Down

DROP TABLE inbox;
