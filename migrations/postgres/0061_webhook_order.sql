-- +goose Up

-- Events of one meeting are posted to a webhook one after another, in the order of their ids.
ALTER TABLE webhook_deliveries ADD COLUMN meeting_id bigint NOT NULL DEFAULT 0;
UPDATE webhook_deliveries AS d SET meeting_id = h.meeting_id FROM history AS h WHERE d.state = 'pending' AND h.id = d.event_id;
CREATE INDEX webhook_deliveries_line ON webhook_deliveries (webhook_id, meeting_id, id) WHERE state = 'pending';

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION history_tells_webhooks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO webhook_deliveries (webhook_id, event_id, meeting_id, event, due_at, expires_at, created_at, updated_at)
    SELECT w.id, a.id, a.meeting_id, 'meeting.' || a.action, clock_timestamp(), clock_timestamp() + interval '3 days', clock_timestamp(), clock_timestamp()
    FROM webhooks w JOIN added a ON w.events = '[]' OR w.events ? ('meeting.' || a.action)
    WHERE w.active
    ORDER BY a.id, w.id
    FOR KEY SHARE OF w;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- +goose Down

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION history_tells_webhooks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO webhook_deliveries (webhook_id, event_id, event, due_at, expires_at, created_at, updated_at)
    SELECT w.id, a.id, 'meeting.' || a.action, clock_timestamp(), clock_timestamp() + interval '3 days', clock_timestamp(), clock_timestamp()
    FROM webhooks w JOIN added a ON w.events = '[]' OR w.events ? ('meeting.' || a.action)
    WHERE w.active
    ORDER BY a.id, w.id
    FOR KEY SHARE OF w;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
DROP INDEX webhook_deliveries_line;
ALTER TABLE webhook_deliveries DROP COLUMN meeting_id;
