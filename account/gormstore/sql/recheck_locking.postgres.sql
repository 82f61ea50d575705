-- Returns the role and the groups of an active user with a token, and whom they act for, and keeps both until the transaction ends.
-- Parameters: $1 user, $2 token.
-- Result: one row role, group_ids and acts_for (JSON), or none.
-- Index: the primary keys of users and tokens.
SELECT u.role, u.group_ids, u.acts_for
FROM users u JOIN tokens t ON t.user_id = u.id
WHERE u.id = $1 AND t.id = $2 AND u.disabled_at IS NULL
FOR SHARE OF u FOR KEY SHARE OF t
