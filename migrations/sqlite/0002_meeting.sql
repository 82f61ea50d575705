-- +goose Up

CREATE TABLE sites (
    id         INTEGER  PRIMARY KEY AUTOINCREMENT,
    name       TEXT     NOT NULL,
    timezone   TEXT     NOT NULL DEFAULT '', -- IANA; '': the installation's
    version    INTEGER  NOT NULL DEFAULT 1,
    created_at DATETIME NOT NULL,
    updated_at DATETIME NOT NULL
);

-- Rooms are marked as deleted, never removed: meetings of the past name them.
CREATE TABLE rooms (
    id                       INTEGER  PRIMARY KEY AUTOINCREMENT,
    site_id                  INTEGER  CONSTRAINT rooms_site REFERENCES sites (id),
    name                     TEXT     NOT NULL,
    floor                    TEXT     NOT NULL DEFAULT '',
    capacity                 INTEGER  NOT NULL DEFAULT 0,    -- 0: unknown
    features                 TEXT     NOT NULL DEFAULT '[]', -- of strings
    timezone                 TEXT     NOT NULL DEFAULT '',   -- IANA; '': the site's
    active                   BOOLEAN  NOT NULL DEFAULT true,
    approval_required        BOOLEAN  NOT NULL DEFAULT false,
    approval_timeout_seconds INTEGER  NOT NULL DEFAULT 0,    -- 0: the installation's
    policy                   TEXT     NOT NULL DEFAULT '{}',
    check_in                 TEXT     NOT NULL DEFAULT '{}',
    deleted_at               DATETIME,
    version                  INTEGER  NOT NULL DEFAULT 1,
    created_at               DATETIME NOT NULL,
    updated_at               DATETIME NOT NULL
);

CREATE INDEX rooms_site ON rooms (site_id) WHERE deleted_at IS NULL;
CREATE INDEX rooms_name ON rooms (lower(name), id) WHERE deleted_at IS NULL;

CREATE TABLE room_approvers (
    room_id  INTEGER NOT NULL REFERENCES rooms (id) ON DELETE CASCADE,
    user_id  INTEGER NOT NULL CONSTRAINT room_approvers_user REFERENCES users (id),
    position INTEGER NOT NULL,
    PRIMARY KEY (room_id, user_id)
) WITHOUT ROWID;

CREATE INDEX room_approvers_user ON room_approvers (user_id);

CREATE TABLE meetings (
    id                INTEGER  PRIMARY KEY AUTOINCREMENT, -- an id names messages and mails and never comes back
    title             TEXT     NOT NULL,
    description       TEXT     NOT NULL DEFAULT '',
    starts_at         DATETIME NOT NULL,
    ends_at           DATETIME NOT NULL,
    timezone          TEXT     NOT NULL, -- IANA
    organizer_id      INTEGER  NOT NULL CONSTRAINT meetings_organizer REFERENCES users (id),
    status            TEXT     NOT NULL CONSTRAINT meetings_status_known
                      CHECK (status IN ('pending', 'confirmed', 'in_progress', 'ended', 'rejected', 'cancelled', 'released')),
    visibility        TEXT     NOT NULL CONSTRAINT meetings_visibility_known CHECK (visibility IN ('public', 'private')),
    approval_required BOOLEAN  NOT NULL DEFAULT false,
    approval_deadline DATETIME,
    decided_at        DATETIME,
    decided_by        INTEGER  REFERENCES users (id), -- null: nobody (yet, or the time-out)
    decision_comment  TEXT     NOT NULL DEFAULT '',
    decision_reason   TEXT     NOT NULL DEFAULT '',
    default_reminders BOOLEAN  NOT NULL DEFAULT false,
    checked_in_at     DATETIME,
    started_at        DATETIME,
    ended_at          DATETIME,
    schedule_version  INTEGER  NOT NULL DEFAULT 1, -- raised by triggers below
    version           INTEGER  NOT NULL DEFAULT 1,
    created_at        DATETIME NOT NULL,
    updated_at        DATETIME NOT NULL,
    -- A time stored as text would compare wrongly with the integers (microseconds) we write.
    CONSTRAINT meetings_times_are_integers CHECK (typeof(starts_at) = 'integer' AND typeof(ends_at) = 'integer'),
    CONSTRAINT meetings_ends_after_start CHECK (ends_at > starts_at),
    CONSTRAINT meetings_pending_has_deadline CHECK (status <> 'pending' OR approval_deadline IS NOT NULL)
);

CREATE INDEX meetings_start_due ON meetings (starts_at, id) WHERE status = 'confirmed';
CREATE INDEX meetings_end_due ON meetings (ends_at, id) WHERE status IN ('confirmed', 'in_progress');
CREATE INDEX meetings_approval_due ON meetings (approval_deadline, id) WHERE status = 'pending';
CREATE INDEX meetings_start ON meetings (starts_at, id);
CREATE INDEX meetings_organizer ON meetings (organizer_id, starts_at, id);
-- The longest meeting bounds how far before a period one that reaches into it can start.
CREATE INDEX meetings_duration ON meetings (ends_at - starts_at);

CREATE TABLE meeting_rooms (
    meeting_id INTEGER NOT NULL REFERENCES meetings (id) ON DELETE CASCADE,
    room_id    INTEGER NOT NULL CONSTRAINT meeting_rooms_room REFERENCES rooms (id),
    position   INTEGER NOT NULL,
    PRIMARY KEY (meeting_id, room_id)
) WITHOUT ROWID;

CREATE INDEX meeting_rooms_room ON meeting_rooms (room_id, meeting_id);

-- What a meeting takes of a room, buffers included. A row is here exactly while the meeting
-- holds the slot, or has held it once it is past; cancelling, rejecting and releasing delete it.
CREATE TABLE occupancies (
    meeting_id INTEGER  NOT NULL REFERENCES meetings (id) ON DELETE CASCADE,
    room_id    INTEGER  NOT NULL CONSTRAINT occupancies_room REFERENCES rooms (id),
    starts_at  DATETIME NOT NULL,
    ends_at    DATETIME NOT NULL,
    PRIMARY KEY (meeting_id, room_id),
    CONSTRAINT occupancies_times_are_integers CHECK (typeof(starts_at) = 'integer' AND typeof(ends_at) = 'integer'),
    CONSTRAINT occupancies_ends_after_start CHECK (ends_at > starts_at)
) WITHOUT ROWID;

CREATE UNIQUE INDEX occupancies_room_start ON occupancies (room_id, starts_at, ends_at);

-- A room's rows do not overlap, so the last that starts before a new end is the only one that
-- can reach into a new slot.
-- +goose StatementBegin
CREATE TRIGGER occupancies_no_overlap_insert BEFORE INSERT ON occupancies
BEGIN
    SELECT RAISE(ABORT, 'occupancies_no_overlap')
      FROM (SELECT ends_at FROM occupancies
             WHERE room_id = NEW.room_id AND starts_at < NEW.ends_at
             ORDER BY starts_at DESC LIMIT 1) AS last
     WHERE last.ends_at > NEW.starts_at;
END;

CREATE TRIGGER occupancies_no_overlap_update BEFORE UPDATE OF meeting_id, room_id, starts_at, ends_at ON occupancies
BEGIN
    SELECT RAISE(ABORT, 'occupancies_no_overlap')
      FROM (SELECT ends_at FROM occupancies
             WHERE room_id = NEW.room_id AND starts_at < NEW.ends_at
               AND NOT (meeting_id = OLD.meeting_id AND room_id = OLD.room_id)
             ORDER BY starts_at DESC LIMIT 1) AS last
     WHERE last.ends_at > NEW.starts_at;
END;
-- +goose StatementEnd

CREATE TABLE attendees (
    meeting_id INTEGER NOT NULL REFERENCES meetings (id) ON DELETE CASCADE,
    position   INTEGER NOT NULL,
    user_id    INTEGER REFERENCES users (id),
    email      TEXT    NOT NULL,
    name       TEXT    NOT NULL DEFAULT '',
    phone      TEXT    NOT NULL DEFAULT '',
    locale     TEXT    NOT NULL DEFAULT '',
    timezone   TEXT    NOT NULL DEFAULT '',
    response   TEXT    NOT NULL CONSTRAINT attendees_response_known
               CHECK (response IN ('needs_action', 'accepted', 'declined', 'tentative')),
    PRIMARY KEY (meeting_id, position)
) WITHOUT ROWID;

CREATE INDEX attendees_email ON attendees (lower(email), meeting_id);

CREATE TABLE meeting_reminders (
    meeting_id     INTEGER  NOT NULL REFERENCES meetings (id) ON DELETE CASCADE,
    before         TEXT     NOT NULL CONSTRAINT meeting_reminders_before_known CHECK (before IN ('start', 'end')),
    offset_seconds INTEGER  NOT NULL,
    channels       TEXT     NOT NULL, -- of strings
    due_at         DATETIME NOT NULL, -- the edge less the offset, kept so by a trigger
    handled_at     DATETIME,          -- sent, skipped, or in the past when it was asked for
    PRIMARY KEY (meeting_id, before, offset_seconds)
) WITHOUT ROWID;

CREATE INDEX meeting_reminders_due ON meeting_reminders (due_at, meeting_id, before, offset_seconds) WHERE handled_at IS NULL;

CREATE TABLE history (
    id         INTEGER  PRIMARY KEY AUTOINCREMENT,
    meeting_id INTEGER  NOT NULL REFERENCES meetings (id) ON DELETE CASCADE,
    at         DATETIME NOT NULL,
    action     TEXT     NOT NULL,
    actor_kind TEXT     NOT NULL CONSTRAINT history_actor_known CHECK (actor_kind IN ('user', 'timer', 'system')),
    actor_id   INTEGER,              -- of a user
    actor_name TEXT     NOT NULL DEFAULT '',
    changes    TEXT,
    reason     TEXT     NOT NULL DEFAULT ''
);

CREATE INDEX history_meeting ON history (meeting_id, id);
CREATE UNIQUE INDEX history_once ON history (meeting_id, action) WHERE action NOT IN ('changed', 'confirmed');

-- Whoever changes a schedule makes the messages of the old one stale, on whatever path.
-- +goose StatementBegin
CREATE TRIGGER meetings_schedule_version AFTER UPDATE ON meetings
WHEN NEW.schedule_version = OLD.schedule_version AND (
    NEW.starts_at <> OLD.starts_at
    OR NEW.ends_at <> OLD.ends_at
    OR NEW.approval_deadline IS NOT OLD.approval_deadline
    OR NEW.status <> OLD.status AND NEW.status IN ('cancelled', 'rejected', 'released'))
BEGIN
    UPDATE meetings SET schedule_version = OLD.schedule_version + 1 WHERE id = NEW.id;
END;

CREATE TRIGGER meeting_rooms_schedule_version AFTER DELETE ON meeting_rooms
BEGIN
    UPDATE meetings SET schedule_version = schedule_version + 1 WHERE id = OLD.meeting_id;
END;

-- A reminder follows its edge and is open again. One of a meeting that will not be, or not
-- until then, is closed.
CREATE TRIGGER meetings_reminders_move AFTER UPDATE ON meetings
WHEN NEW.starts_at <> OLD.starts_at OR NEW.ends_at <> OLD.ends_at
BEGIN
    UPDATE meeting_reminders
       SET due_at = CASE before WHEN 'start' THEN NEW.starts_at ELSE NEW.ends_at END - offset_seconds * 1000000,
           handled_at = CASE WHEN NEW.status IN ('cancelled', 'rejected', 'released') THEN NEW.updated_at END
     WHERE meeting_id = NEW.id
       AND (before = 'start' AND NEW.starts_at <> OLD.starts_at OR before = 'end' AND NEW.ends_at <> OLD.ends_at);
END;

CREATE TRIGGER meetings_reminders_stop AFTER UPDATE ON meetings
WHEN NEW.status <> OLD.status AND (NEW.status IN ('cancelled', 'rejected', 'released')
    OR NEW.status = 'ended' AND NEW.ended_at < NEW.ends_at)
BEGIN
    UPDATE meeting_reminders SET handled_at = NEW.updated_at
     WHERE meeting_id = NEW.id AND handled_at IS NULL AND (NEW.status <> 'ended' OR due_at > NEW.ended_at);
END;
-- +goose StatementEnd

-- +goose Down

DROP TABLE history;
DROP TABLE meeting_reminders;
DROP TABLE attendees;
DROP TABLE occupancies;
DROP TABLE meeting_rooms;
DROP TABLE meetings;
DROP TABLE room_approvers;
DROP TABLE rooms;
DROP TABLE sites;
