-- +goose Up

-- Incoming webhooks of chat services at which users are notified.
CREATE TABLE chat_targets (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL CONSTRAINT chat_targets_user_unique UNIQUE REFERENCES users (id) ON DELETE CASCADE,
    service text NOT NULL,
    secret_url text NOT NULL,
    secret_key text NOT NULL, -- '': none
    created_at DATETIME NOT NULL,
    updated_at DATETIME NOT NULL
);

-- +goose Down

DROP TABLE chat_targets;
