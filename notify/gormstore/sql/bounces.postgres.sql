-- Returns which email addresses are marked because they bounced.
-- Parameters: $1 addresses in lower case, a JSON array.
-- Result: the rows.
-- Index: email_bounces_address_unique.
SELECT id, address, source, reason, message_id, bounced_at, cleared_at
FROM email_bounces
WHERE address = ANY (ARRAY(SELECT CAST(v AS text) FROM jsonb_array_elements_text(CAST($1 AS jsonb)) AS v))
    AND cleared_at IS NULL
