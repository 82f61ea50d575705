-- +goose Up

-- The identity provider that began a session, and SHA-256 of the issuer and its session ID (sid); '': none.
ALTER TABLE tokens ADD COLUMN issuer text NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN provider_session text NOT NULL DEFAULT '';
CREATE INDEX tokens_provider_session ON tokens (provider_session) WHERE provider_session <> '';

-- Which sessions of before a provider began is unknown. Those of people who use one end with its next logout.
UPDATE tokens SET issuer = (SELECT min(i.issuer) FROM identities i WHERE i.user_id = tokens.user_id)
WHERE kind = 'session' AND user_id IN (SELECT user_id FROM identities);

-- Logout tokens of identity providers that have been obeyed, so that each counts once.
CREATE TABLE logout_tokens (
    hash       text PRIMARY KEY, -- SHA-256 of the issuer and the token's ID (jti)
    expires_at DATETIME NOT NULL -- from then on the token is refused as too old
);

-- +goose Down

DROP TABLE logout_tokens;
DROP INDEX tokens_provider_session;
ALTER TABLE tokens DROP COLUMN provider_session;
ALTER TABLE tokens DROP COLUMN issuer;
