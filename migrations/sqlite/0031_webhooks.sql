-- +goose Up

-- Servers that are told what happens to meetings. The secret signs each post, so it is kept as it is.
CREATE TABLE webhooks (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    url        TEXT     NOT NULL,
    secret     TEXT     NOT NULL,
    events     TEXT     NOT NULL, -- ["meeting.started"]; []: all
    active     BOOLEAN  NOT NULL,
    stopped    TEXT     NOT NULL DEFAULT '', -- why it is not active, if nobody switched it off
    version    INTEGER  NOT NULL,
    created_at DATETIME NOT NULL,
    updated_at DATETIME NOT NULL
);

-- What is to be told to whom, and what became of it. event_id is that of history.
CREATE TABLE webhook_deliveries (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    webhook_id   INTEGER  NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    event_id     INTEGER  NOT NULL,
    event        TEXT     NOT NULL, -- meeting.started
    state        TEXT     NOT NULL DEFAULT 'pending'
        CONSTRAINT webhook_deliveries_state_known CHECK (state IN ('pending', 'delivered', 'failed', 'skipped')),
    due_at       DATETIME NOT NULL,
    expires_at   DATETIME NOT NULL, -- when it is given up
    attempts     INTEGER  NOT NULL DEFAULT 0,
    status       INTEGER  NOT NULL DEFAULT 0, -- of the last answer; 0: there was none
    last_error   TEXT     NOT NULL DEFAULT '',
    delivered_at DATETIME,
    version      INTEGER  NOT NULL DEFAULT 1,
    created_at   DATETIME NOT NULL,
    updated_at   DATETIME NOT NULL
);

CREATE UNIQUE INDEX webhook_deliveries_once ON webhook_deliveries (webhook_id, event_id);
CREATE INDEX webhook_deliveries_listed ON webhook_deliveries (webhook_id, id);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (due_at, id) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_new ON webhook_deliveries (id) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_over ON webhook_deliveries (updated_at) WHERE state <> 'pending';

-- Whatever writes the history of a meeting has written what is to be told of it.
-- +goose StatementBegin
CREATE TRIGGER history_webhooks AFTER INSERT ON history BEGIN
    INSERT INTO webhook_deliveries (webhook_id, event_id, event, due_at, expires_at, created_at, updated_at)
    SELECT w.id, NEW.id, 'meeting.' || NEW.action, t.at, t.at + 259200000000, t.at, t.at -- three days
    FROM webhooks AS w, (SELECT CAST(unixepoch('now', 'subsec') * 1000000 AS INTEGER) AS at) AS t
    WHERE w.active AND (w.events = '[]' OR EXISTS (SELECT 1 FROM json_each(w.events) WHERE value = 'meeting.' || NEW.action))
    ORDER BY w.id;
END;
-- +goose StatementEnd

-- +goose Down

DROP TRIGGER history_webhooks;
DROP TABLE webhook_deliveries;
DROP TABLE webhooks;
