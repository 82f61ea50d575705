-- +goose Up

-- Networks, as hashes, from which users signed in lately: sign-ins from there go ahead of those of strangers.
CREATE TABLE sign_in_networks (
    network text NOT NULL,
    user_id bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    last_at DATETIME NOT NULL,
    PRIMARY KEY (network, user_id)
);
CREATE INDEX sign_in_networks_last ON sign_in_networks (last_at);

-- Guesses no longer end the codes of doors.
ALTER TABLE door_codes DROP COLUMN guesses;

-- +goose Down

ALTER TABLE door_codes ADD COLUMN guesses integer NOT NULL DEFAULT 0;
DROP TABLE sign_in_networks;
