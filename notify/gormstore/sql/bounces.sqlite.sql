-- Returns which email addresses bounce.
-- Parameters: $1 addresses in lower case, a JSON array.
-- Result: the rows.
-- Index: email_bounces_address_unique.
SELECT * FROM email_bounces
WHERE address IN (SELECT value FROM json_each($1))
