-- Inserts the same attendees for each of some meetings. They are sent once.
-- Parameters: $1 attendees, a JSON array of objects with the columns of x; $2 meetings, a JSON array.
INSERT INTO attendees (meeting_id, position, user_id, email, name, phone, locale, timezone, response, comment)
SELECT m.id, x.position, x.user_id, x.email, x.name, x.phone, x.locale, x.timezone, x.response, x.comment
FROM (SELECT value AS id FROM json_each($2)) AS m, (SELECT value->>'position' AS position, value->>'user_id' AS user_id, value->>'email' AS email, value->>'name' AS name,
        value->>'phone' AS phone, value->>'locale' AS locale, value->>'timezone' AS timezone, value->>'response' AS response,
        value->>'comment' AS comment
    FROM json_each($1)) AS x
