-- Inserts the same attendees for each of some meetings. They are sent once.
-- Parameters: $1 attendees, a JSON array of objects with the columns of x; $2 meetings, an array.
INSERT INTO attendees (meeting_id, position, user_id, email, name, phone, locale, timezone, response, comment)
SELECT m.id, x.position, x.user_id, x.email, x.name, x.phone, x.locale, x.timezone, x.response, x.comment
FROM unnest($2::bigint[]) AS m (id), jsonb_to_recordset($1::jsonb) AS x (position integer, user_id bigint, email text, name text, phone text,
    locale text, timezone text, response text, comment text)
