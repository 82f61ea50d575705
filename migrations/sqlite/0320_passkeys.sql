-- +goose Up

-- Passkeys of users (WebAuthn). Only public keys are here.
CREATE TABLE passkeys (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id bigint NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    domain text NOT NULL, -- that browsers bind the passkey to: the relying party
    credential text NOT NULL, -- its ID, in base64url
    public_key BLOB NOT NULL, -- COSE
    sign_count bigint NOT NULL, -- the last one; 0: the device does not count
    flags bigint NOT NULL, -- of the authenticator data
    transports text NOT NULL, -- JSON
    model text NOT NULL, -- of the device, as a UUID; '': unknown
    name text NOT NULL,
    last_used_at DATETIME,
    created_at DATETIME NOT NULL,
    CONSTRAINT passkeys_credential_unique UNIQUE (domain, credential)
);
CREATE INDEX passkeys_user ON passkeys (user_id);

-- Random names by which devices know users. They stay the same, so that a device replaces the passkey of
-- a user instead of adding one.
CREATE TABLE passkey_handles (
    user_id INTEGER PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    handle text NOT NULL -- base64url
);

-- Challenges that browsers have to answer. Each is deleted when it is answered.
CREATE TABLE passkey_challenges (
    hash text PRIMARY KEY, -- of the challenge, hexadecimal
    user_id bigint REFERENCES users (id) ON DELETE CASCADE, -- null: whoever signs in
    purpose text NOT NULL, -- register, sign-in or confirm
    content text NOT NULL, -- what the answer is checked with, JSON
    expires_at DATETIME NOT NULL
);
CREATE INDEX passkey_challenges_expiry ON passkey_challenges (expires_at);
CREATE INDEX passkey_challenges_user ON passkey_challenges (user_id) WHERE user_id IS NOT NULL;

-- +goose Down

DROP TABLE passkey_challenges;
DROP TABLE passkey_handles;
DROP TABLE passkeys;
