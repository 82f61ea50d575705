-- +goose Up

-- What becomes of the meetings of users who leave. A delay job carries it out.
CREATE TABLE departures (
    user_id       INTEGER  PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    meetings      TEXT     NOT NULL CONSTRAINT departures_meetings_known CHECK (meetings IN ('hand_over', 'cancel', 'keep')),
    to_user_id    INTEGER  REFERENCES users (id), -- with hand_over
    reason        TEXT     NOT NULL,              -- for attendees
    by_user_id    INTEGER  NOT NULL,
    by_name       TEXT     NOT NULL,
    total         INTEGER  NOT NULL,              -- meetings at the beginning
    after_series  INTEGER  NOT NULL DEFAULT 0,    -- the last one that was done, by ID
    after_meeting INTEGER  NOT NULL DEFAULT 0,
    version       INTEGER  NOT NULL,
    created_at    DATETIME NOT NULL,
    finished_at   DATETIME                           -- null: not yet
);

CREATE INDEX departures_due ON departures (created_at, user_id) WHERE finished_at IS NULL;

-- +goose Down

DROP TABLE departures;
