-- Returns what email addresses without an account have switched off.
-- Parameters: $1 addresses in lower case, a JSON array.
-- Result: address, kind.
-- Index: notification_optouts_unique.
SELECT address, kind FROM notification_optouts
WHERE address IN (SELECT value FROM json_each($1))
