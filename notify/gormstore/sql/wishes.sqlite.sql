-- Returns users and their preferences, with user_id 0 for users without any.
-- Parameters: $1 IDs of users, a JSON array.
-- Result: the columns of wishRow.
-- Index: the primary keys.
SELECT u.id, u.name, u.email, u.phone, u.locale, u.timezone, u.disabled_at,
    COALESCE(p.user_id, 0) AS user_id, COALESCE(p.choices, '') AS choices, p.quiet_from, p.quiet_until,
    COALESCE(p.digest, 'off') AS digest, COALESCE(p.digest_at, 0) AS digest_at, COALESCE(p.digest_weekday, 0) AS digest_weekday,
    COALESCE(p.digest_zone, '') AS digest_zone, p.digest_due_at, COALESCE(p.digest_version, 0) AS digest_version,
    COALESCE((SELECT c.id FROM chat_targets c WHERE c.user_id = u.id), 0) AS chat_id
FROM users u LEFT JOIN notification_preferences p ON p.user_id = u.id
WHERE u.id IN (SELECT value FROM json_each($1))
