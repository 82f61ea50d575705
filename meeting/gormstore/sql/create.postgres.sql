-- Inserts a meeting and all that belongs to it. It returns no row if a room does not exist, if a room's
-- blackouts have changed since the meeting was validated, or if the caller has lost rights. It fails
-- with occupancies_no_overlap if a room is taken, and with calendar_objects_unique if the event is known.
-- The rooms' row locks exclude deletions of rooms and new blackouts, not other bookings. If a row
-- changes while the statement waits for its lock, the statement sees the new row.
-- Parameters: $1 to $32 the columns; JSON arrays of $33 rooms, $34 occupancies, $35 attendees,
-- $36 reminders and $37 history; $38 the caller's token, 0: not checked; $39 the roles that they may have;
-- $40 a JSON array of the event of another calendar that it comes from; $41 a JSON array of the groups that
-- they must be in; $42 a JSON array of the users for whom they must act, see [account.ActsFor].
-- Result: id.
-- Index: the primary keys of rooms, users and tokens, occupancies_no_overlap.
WITH present AS (
    SELECT id FROM rooms
    WHERE deleted_at IS NULL
        AND id = ANY (ARRAY(SELECT (x ->> 'room_id')::bigint FROM jsonb_array_elements($33::jsonb) AS x)) -- an index scan, whatever the estimate
        AND closures = COALESCE((SELECT (x ->> 'closures')::bigint FROM jsonb_array_elements($33::jsonb) AS x
            WHERE (x ->> 'room_id')::bigint = rooms.id), closures)
    ORDER BY id
    FOR KEY SHARE
), allowed AS (
    SELECT 1 FROM users u JOIN tokens t ON t.user_id = u.id
    WHERE t.id = $38 AND u.disabled_at IS NULL AND u.role = ANY (string_to_array($39, ','))
        AND ($41 = '[]' OR CAST(u.group_ids AS jsonb) @> CAST($41 AS jsonb))
        AND ($42 = '[]' OR CAST(u.acts_for AS jsonb) @> CAST($42 AS jsonb))
    FOR SHARE OF u FOR KEY SHARE OF t
), new AS (
    INSERT INTO meetings (title, description, starts_at, ends_at, timezone, shown_start, shown_end, organizer_id, status, visibility,
        approval_required, approval_deadline, decided_at, decided_by, decision_comment, decision_reason, default_reminders,
        check_in_opens_at, no_show_at, checked_in_at, started_at, ended_at, series_id, original_start, original_wall, type_id, origin, reply_domain, fields, created_at, updated_at, booked_by)
    SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29::jsonb, $30, $31, $32
    WHERE (SELECT count(*) FROM present) = jsonb_array_length($33::jsonb) AND ($38::bigint = 0 OR EXISTS (SELECT 1 FROM allowed))
    RETURNING id
), its_rooms AS (
    INSERT INTO meeting_rooms (meeting_id, room_id, position)
    SELECT m.id, x.room_id, x.position
    FROM new AS m, jsonb_to_recordset($33::jsonb) AS x (room_id bigint, position integer)
), its_occupancies AS ( -- by room, so that two meetings that take the same rooms do not wait for each other
    INSERT INTO occupancies (meeting_id, room_id, starts_at, ends_at, held, lapses_at)
    SELECT m.id, x.room_id, x.starts_at, x.ends_at, x.held, x.lapses_at
    FROM new AS m, jsonb_to_recordset($34::jsonb) AS x (room_id bigint, starts_at timestamptz, ends_at timestamptz, held boolean, lapses_at timestamptz)
    ORDER BY x.room_id, x.starts_at
    ON CONFLICT ON CONSTRAINT occupancies_no_overlap DO NOTHING
    RETURNING 1
), its_attendees AS (
    INSERT INTO attendees (meeting_id, position, user_id, email, name, phone, locale, timezone, response, comment)
    SELECT m.id, x.position, x.user_id, x.email, x.name, x.phone, x.locale, x.timezone, x.response, x.comment
    FROM new AS m, jsonb_to_recordset($35::jsonb) AS x (position integer, user_id bigint, email text, name text, phone text,
        locale text, timezone text, response text, comment text)
), its_reminders AS (
    INSERT INTO meeting_reminders (meeting_id, before, offset_seconds, channels, due_at, handled_at)
    SELECT m.id, x.before, x.offset_seconds, x.channels, x.due_at, x.handled_at
    FROM new AS m, jsonb_to_recordset($36::jsonb) AS x (before text, offset_seconds bigint, channels jsonb, due_at timestamptz, handled_at timestamptz)
), its_history AS (
    INSERT INTO history (meeting_id, at, action, actor_kind, actor_id, actor_name, address, changes, reason)
    SELECT m.id, x.at, x.action, x.actor_kind, x.actor_id, x.actor_name, x.address, x.changes, x.reason
    FROM new AS m, jsonb_to_recordset($37::jsonb) AS x (position integer, at timestamptz, action text, actor_kind text, actor_id bigint,
        actor_name text, address text, changes jsonb, reason text)
    ORDER BY x.position
), its_origin AS (
    INSERT INTO calendar_objects (uid, organizer, origin, meeting_id, sequence, dtstamp)
    SELECT x.uid, x.organizer, x.origin, m.id, x.sequence, x.dtstamp
    FROM new AS m, jsonb_to_recordset($40::jsonb) AS x (uid text, organizer text, origin text, sequence bigint, dtstamp timestamptz)
)
SELECT CASE WHEN (SELECT count(*) FROM its_occupancies) = jsonb_array_length($34::jsonb) THEN id ELSE occupancies_refuse() END AS id
FROM new
