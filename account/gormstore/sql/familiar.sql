-- Reports whether a user, and whether anyone, has signed in from a network.
-- Parameters: $1 network, $2 since, $3 user.
-- Result: one row "user", anyone.
-- Index: the primary key of sign_in_networks.
SELECT
    EXISTS (SELECT 1 FROM sign_in_networks WHERE network = $1 AND last_at > $2 AND user_id = $3) AS "user",
    EXISTS (SELECT 1 FROM sign_in_networks WHERE network = $1 AND last_at > $2) AS anyone
