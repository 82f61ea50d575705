-- +goose Up

-- What the provider of a channel reported about a notification that it had accepted.
ALTER TABLE notifications ADD COLUMN reception text NOT NULL DEFAULT '' CONSTRAINT notifications_reception CHECK (reception IN ('', 'delivered', 'undelivered'));
ALTER TABLE notifications ADD COLUMN reception_at timestamptz;
ALTER TABLE notifications ADD COLUMN reception_reason text NOT NULL DEFAULT '';

-- How many segments of text messages were sent, by day of the organization.
CREATE TABLE sms_days (
    day text PRIMARY KEY,
    segments bigint NOT NULL,
    notified_at timestamptz -- when admins were notified that the limit is reached; null: not yet
);

-- +goose Down

DROP TABLE sms_days;
ALTER TABLE notifications DROP COLUMN reception_reason;
ALTER TABLE notifications DROP COLUMN reception_at;
ALTER TABLE notifications DROP COLUMN reception;
