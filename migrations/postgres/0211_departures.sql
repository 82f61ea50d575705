-- +goose Up

-- What becomes of the meetings of users who leave. A delay job carries it out.
CREATE TABLE departures (
    user_id       bigint      PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    meetings      text        NOT NULL CONSTRAINT departures_meetings_known CHECK (meetings IN ('hand_over', 'cancel', 'keep')),
    to_user_id    bigint      REFERENCES users (id), -- with hand_over
    reason        text        NOT NULL,              -- for attendees
    by_user_id    bigint      NOT NULL,
    by_name       text        NOT NULL,
    total         bigint      NOT NULL,              -- meetings at the beginning
    after_series  bigint      NOT NULL DEFAULT 0,    -- the last one that was done, by ID
    after_meeting bigint      NOT NULL DEFAULT 0,
    version       bigint      NOT NULL,
    created_at    timestamptz NOT NULL,
    finished_at   timestamptz                        -- null: not yet
);

CREATE INDEX departures_due ON departures (created_at, user_id) WHERE finished_at IS NULL;

-- +goose Down

DROP TABLE departures;
