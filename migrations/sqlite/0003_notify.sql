-- +goose Up

-- The ledger of notifications: what is to be told to whom, and what became of it.
-- meeting_id and user_id are no foreign keys: the ledger outlives what it speaks of.
-- AUTOINCREMENT: an id names a message in the queue and must never come back.
CREATE TABLE notifications (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    dedupe_key TEXT NOT NULL CONSTRAINT notifications_dedupe_key UNIQUE,
    kind       TEXT NOT NULL,
    channel    TEXT NOT NULL,
    meeting_id INTEGER,
    user_id    INTEGER,
    name       TEXT NOT NULL DEFAULT '',
    address    TEXT NOT NULL,
    locale     TEXT NOT NULL DEFAULT '',
    timezone   TEXT NOT NULL DEFAULT '',
    facts      TEXT NOT NULL,
    due_at     DATETIME NOT NULL,
    expires_at DATETIME,
    state      TEXT NOT NULL DEFAULT 'pending' CONSTRAINT notifications_state
               CHECK (state IN ('pending', 'sending', 'sent', 'failed', 'skipped', 'skipped_late', 'cancelled')),
    version    INTEGER NOT NULL DEFAULT 1, -- of the delivery: raised by each resend, so that a dead message gives way
    attempts   INTEGER NOT NULL DEFAULT 0,
    message_id TEXT NOT NULL DEFAULT '',   -- recorded with the first outcome
    last_error TEXT NOT NULL DEFAULT '',
    sending_at DATETIME,
    sent_at    DATETIME,
    created_at DATETIME NOT NULL,
    updated_at DATETIME NOT NULL
);

CREATE INDEX notifications_due ON notifications (channel, due_at, id) WHERE state IN ('pending', 'sending');
CREATE INDEX notifications_meeting ON notifications (meeting_id, id);
CREATE INDEX notifications_unsent ON notifications (state, id) WHERE state IN ('failed', 'skipped', 'skipped_late', 'cancelled');

-- +goose Down
DROP TABLE notifications;
