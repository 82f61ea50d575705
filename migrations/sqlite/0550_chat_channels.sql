-- +goose Up

-- Rooms and sites have incoming webhooks too, at which all readers of a channel are notified.
CREATE TABLE chat_targets_new (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER CONSTRAINT chat_targets_user_unique UNIQUE REFERENCES users (id) ON DELETE CASCADE,
    room_id INTEGER CONSTRAINT chat_targets_room_unique UNIQUE REFERENCES rooms (id) ON DELETE CASCADE,
    site_id INTEGER CONSTRAINT chat_targets_site_unique UNIQUE REFERENCES sites (id) ON DELETE CASCADE,
    service text NOT NULL,
    secret_url text NOT NULL,
    secret_key text NOT NULL, -- '': none
    kinds text NOT NULL DEFAULT '[]', -- of notifications; of a user: see notification_preferences
    locale text NOT NULL DEFAULT '', -- of a user: that of the user
    created_at DATETIME NOT NULL,
    updated_at DATETIME NOT NULL,
    CONSTRAINT chat_targets_owner CHECK ((user_id IS NOT NULL) + (room_id IS NOT NULL) + (site_id IS NOT NULL) = 1)
);
INSERT INTO chat_targets_new (id, user_id, service, secret_url, secret_key, created_at, updated_at)
SELECT id, user_id, service, secret_url, secret_key, created_at, updated_at FROM chat_targets;
DROP TABLE chat_targets;
ALTER TABLE chat_targets_new RENAME TO chat_targets;

-- +goose Down

CREATE TABLE chat_targets_old (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL CONSTRAINT chat_targets_user_unique UNIQUE REFERENCES users (id) ON DELETE CASCADE,
    service text NOT NULL,
    secret_url text NOT NULL,
    secret_key text NOT NULL, -- '': none
    created_at DATETIME NOT NULL,
    updated_at DATETIME NOT NULL
);
INSERT INTO chat_targets_old (id, user_id, service, secret_url, secret_key, created_at, updated_at)
SELECT id, user_id, service, secret_url, secret_key, created_at, updated_at FROM chat_targets WHERE user_id IS NOT NULL;
DROP TABLE chat_targets;
ALTER TABLE chat_targets_old RENAME TO chat_targets;
