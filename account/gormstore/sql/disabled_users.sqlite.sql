-- Returns the disabled users among some IDs and addresses. Its text does not depend on their number.
-- Parameters: $1 IDs, $2 addresses, both JSON arrays.
-- Result: id, email.
-- Index: the primary key, users_email_unique.
SELECT id, email
FROM users
WHERE disabled_at IS NOT NULL
    AND (id IN (SELECT value FROM json_each($1)) OR lower(email) IN (SELECT lower(value) FROM json_each($2)))
