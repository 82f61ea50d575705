-- +goose Up

-- Who waits for rooms that are taken, in the order of the ids.
CREATE TABLE waitlist (
    id          INTEGER  PRIMARY KEY AUTOINCREMENT,
    user_id     INTEGER  NOT NULL CONSTRAINT waitlist_user REFERENCES users (id),
    state       TEXT     NOT NULL CONSTRAINT waitlist_state_known
                CHECK (state IN ('waiting', 'offered', 'booked', 'expired', 'withdrawn', 'refused')),
    wish        TEXT     NOT NULL, -- the meeting as it was asked for
    until_at    DATETIME,          -- the person waits no longer; null: until the start
    expires_at  DATETIME NOT NULL, -- the earlier of until_at and the start
    offer_until DATETIME,          -- to accept the last offer; null: there was none
    due_at      DATETIME NOT NULL, -- of the timer that ends the wait or the offer
    meeting_id  INTEGER  CONSTRAINT waitlist_meeting REFERENCES meetings (id) ON DELETE SET NULL,
    reason      TEXT     NOT NULL DEFAULT '', -- why it came to nothing
    detail      TEXT     NOT NULL DEFAULT '', -- the rules that were in the way
    version     INTEGER  NOT NULL DEFAULT 1,
    created_at  DATETIME NOT NULL,
    updated_at  DATETIME NOT NULL,
    CONSTRAINT waitlist_offered_until CHECK (state <> 'offered' OR offer_until IS NOT NULL)
);

CREATE INDEX waitlist_due ON waitlist (due_at, id) WHERE state IN ('waiting', 'offered');
CREATE INDEX waitlist_user ON waitlist (user_id, id);

-- What those want who wait or have an offer, buffers included.
CREATE TABLE waitlist_rooms (
    waitlist_id INTEGER  NOT NULL REFERENCES waitlist (id) ON DELETE CASCADE,
    room_id     INTEGER  NOT NULL CONSTRAINT waitlist_rooms_room REFERENCES rooms (id),
    starts_at   DATETIME NOT NULL,
    ends_at     DATETIME NOT NULL,
    PRIMARY KEY (waitlist_id, room_id)
) WITHOUT ROWID;

CREATE INDEX waitlist_rooms_wanted ON waitlist_rooms (room_id, starts_at, ends_at);

-- An offer holds its rooms as a meeting does. Rows of a room never overlap, so that no two of
-- them start together.
CREATE TABLE occupancies_new (
    room_id     INTEGER  NOT NULL CONSTRAINT occupancies_room REFERENCES rooms (id),
    starts_at   DATETIME NOT NULL,
    ends_at     DATETIME NOT NULL,
    meeting_id  INTEGER  REFERENCES meetings (id) ON DELETE CASCADE,
    waitlist_id INTEGER  REFERENCES waitlist (id) ON DELETE CASCADE,
    held        BOOLEAN  NOT NULL DEFAULT false, -- for a change that waits, or for an offer
    PRIMARY KEY (room_id, starts_at),
    CONSTRAINT occupancies_of_one CHECK ((meeting_id IS NULL) <> (waitlist_id IS NULL)),
    CONSTRAINT occupancies_times_are_integers CHECK (typeof(starts_at) = 'integer' AND typeof(ends_at) = 'integer'),
    CONSTRAINT occupancies_ends_after_start CHECK (ends_at > starts_at)
) WITHOUT ROWID;
INSERT INTO occupancies_new (room_id, starts_at, ends_at, meeting_id, held)
SELECT room_id, starts_at, ends_at, meeting_id, held FROM occupancies;
DROP TABLE occupancies;
ALTER TABLE occupancies_new RENAME TO occupancies;

CREATE UNIQUE INDEX occupancies_of_meeting ON occupancies (meeting_id, room_id, starts_at);
CREATE INDEX occupancies_offered ON occupancies (waitlist_id) WHERE waitlist_id IS NOT NULL;
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

CREATE TRIGGER occupancies_no_overlap_update BEFORE UPDATE OF room_id, starts_at, ends_at ON occupancies
BEGIN
    SELECT RAISE(ABORT, 'occupancies_no_overlap')
      FROM (SELECT ends_at FROM occupancies
             WHERE room_id = NEW.room_id AND starts_at < NEW.ends_at
               AND NOT (room_id = OLD.room_id AND starts_at = OLD.starts_at)
             ORDER BY starts_at DESC LIMIT 1) AS last
     WHERE last.ends_at > NEW.starts_at;
END;
-- +goose StatementEnd

-- +goose Down

CREATE TABLE occupancies_old (
    meeting_id INTEGER  NOT NULL REFERENCES meetings (id) ON DELETE CASCADE,
    room_id    INTEGER  NOT NULL CONSTRAINT occupancies_room REFERENCES rooms (id),
    starts_at  DATETIME NOT NULL,
    ends_at    DATETIME NOT NULL,
    held       BOOLEAN  NOT NULL DEFAULT false,
    PRIMARY KEY (meeting_id, room_id, starts_at),
    CONSTRAINT occupancies_times_are_integers CHECK (typeof(starts_at) = 'integer' AND typeof(ends_at) = 'integer'),
    CONSTRAINT occupancies_ends_after_start CHECK (ends_at > starts_at)
) WITHOUT ROWID;
INSERT INTO occupancies_old SELECT meeting_id, room_id, starts_at, ends_at, held FROM occupancies WHERE meeting_id IS NOT NULL;
DROP TABLE occupancies;
ALTER TABLE occupancies_old RENAME TO occupancies;
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
DROP TABLE waitlist_rooms;
DROP TABLE waitlist;
