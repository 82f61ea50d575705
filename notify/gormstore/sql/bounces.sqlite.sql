-- Returns which email addresses are marked because they bounced.
-- Parameters: $1 addresses in lower case, a JSON array.
-- Result: the rows.
-- Index: email_bounces_address_unique.
SELECT id, address, source, reason, message_id, bounced_at, cleared_at
FROM email_bounces
WHERE address IN (SELECT value FROM json_each($1))
    AND cleared_at IS NULL
