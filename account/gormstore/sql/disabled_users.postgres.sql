-- Returns the disabled users among some IDs and addresses. Its text does not depend on their number.
-- Parameters: $1 IDs, $2 addresses, both JSON arrays.
-- Result: id, email.
-- Index: users_pkey, users_email_unique.
SELECT id, email
FROM users
WHERE disabled_at IS NOT NULL
    AND (id = ANY (ARRAY(SELECT CAST(v AS bigint) FROM jsonb_array_elements_text(CAST($1 AS jsonb)) AS v))
        OR lower(email) = ANY (ARRAY(SELECT lower(v) FROM jsonb_array_elements_text(CAST($2 AS jsonb)) AS v)))
