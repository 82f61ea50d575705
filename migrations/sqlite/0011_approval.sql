-- +goose Up

-- While somebody is away their deputy decides for them.
ALTER TABLE users ADD COLUMN away_from DATETIME;
ALTER TABLE users ADD COLUMN away_until DATETIME;
ALTER TABLE users ADD COLUMN deputy_id INTEGER CONSTRAINT users_deputy REFERENCES users (id); -- null: nobody stands in

CREATE INDEX users_deputies ON users (away_until) WHERE deputy_id IS NOT NULL;

ALTER TABLE rooms ADD COLUMN approval_on_timeout TEXT NOT NULL DEFAULT '' -- '': the installation's
    CONSTRAINT rooms_on_timeout_known CHECK (approval_on_timeout IN ('', 'rejected', 'confirmed'));
ALTER TABLE rooms ADD COLUMN approval_escalate_after_seconds INTEGER NOT NULL DEFAULT 0; -- 0: the installation's

-- Level 1 decides first, level 2 behind it; level 3 is asked as well when they take long.
CREATE TABLE room_deciders (
    room_id  INTEGER NOT NULL REFERENCES rooms (id) ON DELETE CASCADE,
    user_id  INTEGER NOT NULL CONSTRAINT room_approvers_user REFERENCES users (id),
    position INTEGER NOT NULL,
    level    INTEGER NOT NULL DEFAULT 1 CONSTRAINT room_approvers_level_known CHECK (level IN (1, 2, 3)),
    PRIMARY KEY (room_id, level, user_id)
) WITHOUT ROWID;
INSERT INTO room_deciders SELECT room_id, user_id, position, 1 FROM room_approvers;
DROP TABLE room_approvers;
ALTER TABLE room_deciders RENAME TO room_approvers;
CREATE INDEX room_approvers_user ON room_approvers (user_id);

-- A change that waits for a decision holds what it takes beyond what the meeting has: rows of
-- a room still never overlap, also not those of one meeting.
CREATE TABLE occupancies_new (
    meeting_id INTEGER  NOT NULL REFERENCES meetings (id) ON DELETE CASCADE,
    room_id    INTEGER  NOT NULL CONSTRAINT occupancies_room REFERENCES rooms (id),
    starts_at  DATETIME NOT NULL,
    ends_at    DATETIME NOT NULL,
    held       BOOLEAN  NOT NULL DEFAULT false, -- for a change that waits
    PRIMARY KEY (meeting_id, room_id, starts_at),
    CONSTRAINT occupancies_times_are_integers CHECK (typeof(starts_at) = 'integer' AND typeof(ends_at) = 'integer'),
    CONSTRAINT occupancies_ends_after_start CHECK (ends_at > starts_at)
) WITHOUT ROWID;
INSERT INTO occupancies_new SELECT meeting_id, room_id, starts_at, ends_at, false FROM occupancies;
DROP TABLE occupancies;
ALTER TABLE occupancies_new RENAME TO occupancies;

CREATE UNIQUE INDEX occupancies_room_start ON occupancies (room_id, starts_at, ends_at);
CREATE INDEX occupancies_held ON occupancies (room_id, starts_at) WHERE held;

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
               AND NOT (meeting_id = OLD.meeting_id AND room_id = OLD.room_id AND starts_at = OLD.starts_at)
             ORDER BY starts_at DESC LIMIT 1) AS last
     WHERE last.ends_at > NEW.starts_at;
END;
-- +goose StatementEnd

-- Who was asked to decide on a meeting, and what came of it: one row for each meeting that
-- needed a decision. waiting: on the meeting while it is pending, or on a change of one that
-- is confirmed.
CREATE TABLE approvals (
    meeting_id   INTEGER  PRIMARY KEY REFERENCES meetings (id) ON DELETE CASCADE,
    number       INTEGER  NOT NULL,            -- counts how often a level was asked; the version of the timers' messages
    waiting      BOOLEAN  NOT NULL,
    first_number INTEGER  NOT NULL DEFAULT 0,  -- that of the request's first level; this and what follows count while it waits
    level        INTEGER  NOT NULL DEFAULT 0,  -- that is asked
    asked_at     DATETIME,
    deadline     DATETIME,
    on_timeout   TEXT     NOT NULL DEFAULT 'rejected' CONSTRAINT approvals_on_timeout_known CHECK (on_timeout IN ('rejected', 'confirmed')),
    remind_at    DATETIME,                     -- null: nobody is reminded (any more)
    escalate_at  DATETIME,                     -- null: it is not escalated (any more)
    escalated_at DATETIME,
    change       TEXT,                         -- null: the meeting itself is asked for
    agreed_now   TEXT     NOT NULL DEFAULT '[]', -- who agreed to the request so far
    agreed       TEXT     NOT NULL DEFAULT '[]', -- who agreed to the meeting as it is
    verdict      TEXT,                         -- on the last request
    CONSTRAINT approvals_wait_for CHECK (NOT waiting OR level > 0 AND asked_at IS NOT NULL AND deadline IS NOT NULL)
);

CREATE INDEX approvals_deadline ON approvals (deadline, meeting_id) WHERE waiting;
CREATE INDEX approvals_remind ON approvals (remind_at, meeting_id) WHERE waiting AND remind_at IS NOT NULL;
CREATE INDEX approvals_escalate ON approvals (escalate_at, meeting_id) WHERE waiting AND escalate_at IS NOT NULL;

-- Messages of before carry the schedule's version.
INSERT INTO approvals (meeting_id, number, waiting, first_number, level, asked_at, deadline)
SELECT id, schedule_version, true, schedule_version, 1, updated_at, approval_deadline FROM meetings WHERE status = 'pending';

DROP INDEX meetings_approval_due;

-- Keys with which links in mails are signed, the same for all instances.
CREATE TABLE signing_keys (
    name       TEXT     PRIMARY KEY,
    key        BLOB     NOT NULL,
    created_at DATETIME NOT NULL
);

-- +goose Down

DROP TABLE signing_keys;
CREATE INDEX meetings_approval_due ON meetings (approval_deadline, id) WHERE status = 'pending';
DROP TABLE approvals;

CREATE TABLE occupancies_old (
    meeting_id INTEGER  NOT NULL REFERENCES meetings (id) ON DELETE CASCADE,
    room_id    INTEGER  NOT NULL CONSTRAINT occupancies_room REFERENCES rooms (id),
    starts_at  DATETIME NOT NULL,
    ends_at    DATETIME NOT NULL,
    PRIMARY KEY (meeting_id, room_id),
    CONSTRAINT occupancies_times_are_integers CHECK (typeof(starts_at) = 'integer' AND typeof(ends_at) = 'integer'),
    CONSTRAINT occupancies_ends_after_start CHECK (ends_at > starts_at)
) WITHOUT ROWID;
INSERT INTO occupancies_old SELECT meeting_id, room_id, starts_at, ends_at FROM occupancies WHERE NOT held;
DROP TABLE occupancies;
ALTER TABLE occupancies_old RENAME TO occupancies;
CREATE UNIQUE INDEX occupancies_room_start ON occupancies (room_id, starts_at, ends_at);
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

CREATE TABLE room_deciders (
    room_id  INTEGER NOT NULL REFERENCES rooms (id) ON DELETE CASCADE,
    user_id  INTEGER NOT NULL CONSTRAINT room_approvers_user REFERENCES users (id),
    position INTEGER NOT NULL,
    PRIMARY KEY (room_id, user_id)
) WITHOUT ROWID;
INSERT INTO room_deciders SELECT room_id, user_id, position FROM room_approvers WHERE level = 1;
DROP TABLE room_approvers;
ALTER TABLE room_deciders RENAME TO room_approvers;
CREATE INDEX room_approvers_user ON room_approvers (user_id);

ALTER TABLE rooms DROP COLUMN approval_on_timeout;
ALTER TABLE rooms DROP COLUMN approval_escalate_after_seconds;
DROP INDEX users_deputies;
ALTER TABLE users DROP COLUMN deputy_id;
ALTER TABLE users DROP COLUMN away_until;
ALTER TABLE users DROP COLUMN away_from;
