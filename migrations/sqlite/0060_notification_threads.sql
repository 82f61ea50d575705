-- +goose Up

-- What one recipient reads about one meeting, or one series, by one channel is a thread: it is sent in
-- the order of the ids, and what a newer notification of the thread covers is not sent at all.
CREATE TABLE notifications_new (
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
               CHECK (state IN ('pending', 'sending', 'sent', 'failed', 'skipped', 'skipped_late', 'cancelled', 'superseded')),
    version    INTEGER NOT NULL DEFAULT 1, -- of the delivery: raised by each resend, so that a dead message gives way
    attempts   INTEGER NOT NULL DEFAULT 0,
    message_id TEXT NOT NULL DEFAULT '',   -- recorded with the first outcome
    last_error TEXT NOT NULL DEFAULT '',
    sending_at DATETIME,
    sent_at    DATETIME,
    created_at DATETIME NOT NULL,
    updated_at DATETIME NOT NULL,
    sending_until DATETIME,
    failures   TEXT NOT NULL DEFAULT '[]',
    thread     TEXT NOT NULL DEFAULT '',   -- '': of no thread
    scope      INTEGER NOT NULL DEFAULT 0, -- of its calendar: 0 all of the thread, -1 some dates, else one meeting
    organizer  TEXT NOT NULL DEFAULT ''    -- e-mail address of the user who causes it; '': nobody
);
INSERT INTO notifications_new (id, dedupe_key, kind, channel, meeting_id, user_id, name, address, locale, timezone, facts, due_at, expires_at, state, version, attempts,
    message_id, last_error, sending_at, sent_at, created_at, updated_at, sending_until, failures)
SELECT id, dedupe_key, kind, channel, meeting_id, user_id, name, address, locale, timezone, facts, due_at, expires_at, state, version, attempts,
    message_id, last_error, sending_at, sent_at, created_at, updated_at, sending_until, failures
FROM notifications;
DROP TABLE notifications;
ALTER TABLE notifications_new RENAME TO notifications;

CREATE INDEX notifications_due ON notifications (channel, due_at, id) WHERE state IN ('pending', 'sending');
CREATE INDEX notifications_meeting ON notifications (meeting_id, id);
CREATE INDEX notifications_unsent ON notifications (state, id) WHERE state IN ('failed', 'skipped', 'skipped_late', 'cancelled', 'superseded');
CREATE INDEX notifications_address ON notifications (lower(address), id);
CREATE INDEX notifications_created ON notifications (created_at, id);
CREATE INDEX notifications_thread ON notifications (thread, id) WHERE thread <> '';
CREATE INDEX notifications_quota ON notifications (organizer, channel, created_at) WHERE user_id IS NULL AND organizer <> '';

-- +goose Down
CREATE TABLE notifications_new (
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
    updated_at DATETIME NOT NULL,
    sending_until DATETIME,
    failures   TEXT NOT NULL DEFAULT '[]'
);
INSERT INTO notifications_new (id, dedupe_key, kind, channel, meeting_id, user_id, name, address, locale, timezone, facts, due_at, expires_at, state, version, attempts,
    message_id, last_error, sending_at, sent_at, created_at, updated_at, sending_until, failures)
SELECT id, dedupe_key, kind, channel, meeting_id, user_id, name, address, locale, timezone, facts, due_at, expires_at, CASE state WHEN 'superseded' THEN 'cancelled' ELSE state END, version, attempts,
    message_id, last_error, sending_at, sent_at, created_at, updated_at, sending_until, failures
FROM notifications;
DROP TABLE notifications;
ALTER TABLE notifications_new RENAME TO notifications;

CREATE INDEX notifications_due ON notifications (channel, due_at, id) WHERE state IN ('pending', 'sending');
CREATE INDEX notifications_meeting ON notifications (meeting_id, id);
CREATE INDEX notifications_unsent ON notifications (state, id) WHERE state IN ('failed', 'skipped', 'skipped_late', 'cancelled');
CREATE INDEX notifications_address ON notifications (lower(address), id);
CREATE INDEX notifications_created ON notifications (created_at, id);
