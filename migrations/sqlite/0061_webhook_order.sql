-- +goose Up

-- Events of one meeting are posted to a webhook one after another, in the order of their ids.
ALTER TABLE webhook_deliveries ADD COLUMN meeting_id INTEGER NOT NULL DEFAULT 0;
UPDATE webhook_deliveries SET meeting_id = h.meeting_id FROM history AS h WHERE state = 'pending' AND h.id = event_id;
CREATE INDEX webhook_deliveries_line ON webhook_deliveries (webhook_id, meeting_id, id) WHERE state = 'pending';

DROP TRIGGER history_webhooks;
-- +goose StatementBegin
CREATE TRIGGER history_webhooks AFTER INSERT ON history BEGIN
    INSERT INTO webhook_deliveries (webhook_id, event_id, meeting_id, event, due_at, expires_at, created_at, updated_at)
    SELECT w.id, NEW.id, NEW.meeting_id, 'meeting.' || NEW.action, t.at, t.at + 259200000000, t.at, t.at -- three days
    FROM webhooks AS w, (SELECT CAST(unixepoch('now', 'subsec') * 1000000 AS INTEGER) AS at) AS t
    WHERE w.active AND (w.events = '[]' OR EXISTS (SELECT 1 FROM json_each(w.events) WHERE value = 'meeting.' || NEW.action))
    ORDER BY w.id;
END;
-- +goose StatementEnd

-- +goose Down

DROP TRIGGER history_webhooks;
-- +goose StatementBegin
CREATE TRIGGER history_webhooks AFTER INSERT ON history BEGIN
    INSERT INTO webhook_deliveries (webhook_id, event_id, event, due_at, expires_at, created_at, updated_at)
    SELECT w.id, NEW.id, 'meeting.' || NEW.action, t.at, t.at + 259200000000, t.at, t.at -- three days
    FROM webhooks AS w, (SELECT CAST(unixepoch('now', 'subsec') * 1000000 AS INTEGER) AS at) AS t
    WHERE w.active AND (w.events = '[]' OR EXISTS (SELECT 1 FROM json_each(w.events) WHERE value = 'meeting.' || NEW.action))
    ORDER BY w.id;
END;
-- +goose StatementEnd
DROP INDEX webhook_deliveries_line;
ALTER TABLE webhook_deliveries DROP COLUMN meeting_id;
