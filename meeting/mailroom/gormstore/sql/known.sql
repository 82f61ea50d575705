-- Whether a room, a site, or a meeting or series that calendars respond to has an address.
-- $1: its local part in lower case; $4: the part before the first +, of a site whose address asks for features; $2: the ID of the meeting that it names, or 0; $3: that of the series
-- Result: one row if it is known. Index: the primary keys of all tables, series_first_meeting.
SELECT 1 FROM mail_addresses WHERE address = $1
UNION ALL SELECT 1 FROM mail_addresses WHERE address = $4 AND site_id IS NOT NULL
UNION ALL SELECT 1 FROM meetings WHERE id = $2 AND reply_domain <> ''
UNION ALL SELECT 1 FROM series WHERE first_meeting_id = $2 AND reply_domain <> ''
UNION ALL SELECT 1 FROM series WHERE id = $3 AND reply_domain <> ''
LIMIT 1
