-- +goose Up

-- While somebody is away their deputy decides for them.
ALTER TABLE users
    ADD COLUMN away_from  timestamptz,
    ADD COLUMN away_until timestamptz,
    ADD COLUMN deputy_id  bigint CONSTRAINT users_deputy REFERENCES users (id), -- null: nobody stands in
    ADD CONSTRAINT users_away CHECK ((away_from IS NULL) = (away_until IS NULL) AND (away_from IS NULL OR away_until > away_from)
        AND (deputy_id IS NULL OR away_from IS NOT NULL AND deputy_id <> id));

CREATE INDEX users_deputies ON users (away_until) WHERE deputy_id IS NOT NULL;

ALTER TABLE rooms
    ADD COLUMN approval_on_timeout             text   NOT NULL DEFAULT '' -- '': the installation's
               CONSTRAINT rooms_on_timeout_known CHECK (approval_on_timeout IN ('', 'rejected', 'confirmed')),
    ADD COLUMN approval_escalate_after_seconds bigint NOT NULL DEFAULT 0; -- 0: the installation's

-- Level 1 decides first, level 2 behind it; level 3 is asked as well when they take long.
ALTER TABLE room_approvers
    ADD COLUMN level integer NOT NULL DEFAULT 1 CONSTRAINT room_approvers_level_known CHECK (level IN (1, 2, 3)),
    DROP CONSTRAINT room_approvers_pkey,
    ADD PRIMARY KEY (room_id, level, user_id);

-- A change that waits for a decision holds what it takes beyond what the meeting has: rows of
-- a room still never overlap, also not those of one meeting.
ALTER TABLE occupancies
    ADD COLUMN held boolean NOT NULL DEFAULT false, -- for a change that waits
    DROP CONSTRAINT occupancies_pkey,
    ADD PRIMARY KEY (meeting_id, room_id, starts_at);

CREATE INDEX occupancies_held ON occupancies (room_id, starts_at) WHERE held;

-- Who was asked to decide on a meeting, and what came of it: one row for each meeting that
-- needed a decision. waiting: on the meeting while it is pending, or on a change of one that
-- is confirmed.
CREATE TABLE approvals (
    meeting_id   bigint      PRIMARY KEY REFERENCES meetings (id) ON DELETE CASCADE,
    number       bigint      NOT NULL,            -- counts how often a level was asked; the version of the timers' messages
    waiting      boolean     NOT NULL,
    first_number bigint      NOT NULL DEFAULT 0,  -- that of the request's first level; this and what follows count while it waits
    level        integer     NOT NULL DEFAULT 0,  -- that is asked
    asked_at     timestamptz,
    deadline     timestamptz,
    on_timeout   text        NOT NULL DEFAULT 'rejected' CONSTRAINT approvals_on_timeout_known CHECK (on_timeout IN ('rejected', 'confirmed')),
    remind_at    timestamptz,                     -- null: nobody is reminded (any more)
    escalate_at  timestamptz,                     -- null: it is not escalated (any more)
    escalated_at timestamptz,
    change       jsonb,                           -- null: the meeting itself is asked for
    agreed_now   jsonb       NOT NULL DEFAULT '[]', -- who agreed to the request so far
    agreed       jsonb       NOT NULL DEFAULT '[]', -- who agreed to the meeting as it is
    verdict      jsonb,                           -- on the last request
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
    name       text        PRIMARY KEY,
    key        bytea       NOT NULL,
    created_at timestamptz NOT NULL
);

-- +goose Down

DROP TABLE signing_keys;
CREATE INDEX meetings_approval_due ON meetings (approval_deadline, id) WHERE status = 'pending';
DROP TABLE approvals;
DELETE FROM occupancies WHERE held;
DROP INDEX occupancies_held;
ALTER TABLE occupancies DROP CONSTRAINT occupancies_pkey, DROP COLUMN held, ADD PRIMARY KEY (meeting_id, room_id);
DELETE FROM room_approvers WHERE level > 1;
ALTER TABLE room_approvers DROP CONSTRAINT room_approvers_pkey, DROP COLUMN level, ADD PRIMARY KEY (room_id, user_id);
ALTER TABLE rooms DROP COLUMN approval_on_timeout, DROP COLUMN approval_escalate_after_seconds;
DROP INDEX users_deputies;
ALTER TABLE users DROP CONSTRAINT users_away, DROP COLUMN away_from, DROP COLUMN away_until, DROP COLUMN deputy_id;
