-- +goose Up

-- Rooms and sites have incoming webhooks too, at which all readers of a channel are notified.
ALTER TABLE chat_targets
    ALTER COLUMN user_id DROP NOT NULL,
    ADD COLUMN room_id bigint CONSTRAINT chat_targets_room_unique UNIQUE REFERENCES rooms (id) ON DELETE CASCADE,
    ADD COLUMN site_id bigint CONSTRAINT chat_targets_site_unique UNIQUE REFERENCES sites (id) ON DELETE CASCADE,
    ADD COLUMN kinds jsonb NOT NULL DEFAULT '[]', -- of notifications; of a user: see notification_preferences
    ADD COLUMN locale text NOT NULL DEFAULT '', -- of a user: that of the user
    ADD CONSTRAINT chat_targets_owner CHECK (num_nonnulls(user_id, room_id, site_id) = 1);

-- +goose Down

DELETE FROM chat_targets WHERE user_id IS NULL;
ALTER TABLE chat_targets
    DROP CONSTRAINT chat_targets_owner,
    DROP COLUMN locale,
    DROP COLUMN kinds,
    DROP COLUMN site_id,
    DROP COLUMN room_id,
    ALTER COLUMN user_id SET NOT NULL;
