-- Whether a room, a site or a meeting has an address.
-- $1: its local part in lower case; $2: the ID of the meeting that it names, or 0
-- Result: one row if it is known. Index: the primary keys of both tables.
SELECT 1 FROM mail_addresses WHERE address = $1
UNION ALL SELECT 1 FROM meetings WHERE id = $2
LIMIT 1
