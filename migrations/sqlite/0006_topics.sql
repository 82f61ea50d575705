-- +goose Up

-- Jobs of other systems. This is the truth; a queue holds those that are due soon. revision
-- grows with every new schedule and is the version of the queue's message. lease_token is not
-- null while somebody was given the job and has not said how it ended.
CREATE TABLE delay_jobs (
    topic        TEXT NOT NULL,
    id           TEXT NOT NULL,
    version      INTEGER NOT NULL, -- the caller's
    revision     INTEGER NOT NULL,
    due_at       DATETIME NOT NULL,
    body         TEXT NOT NULL, -- JSON, as it was sent
    ttr_ms       INTEGER NOT NULL,
    ttl_ms       INTEGER NOT NULL, -- 0: does not expire
    max_attempts INTEGER NOT NULL, -- -1: no limit
    expires_at   DATETIME,
    state        TEXT NOT NULL CONSTRAINT delay_jobs_state CHECK (state IN ('pending', 'done', 'deleted', 'dead', 'expired')),
    attempts     INTEGER NOT NULL,
    last_error   TEXT NOT NULL,
    lease_token  INTEGER,
    lease_until  DATETIME,
    created_at   DATETIME NOT NULL,
    updated_at   DATETIME NOT NULL,
    PRIMARY KEY (topic, id)
);

CREATE INDEX delay_jobs_pending ON delay_jobs (due_at, topic, id) WHERE state = 'pending';
CREATE INDEX delay_jobs_dead ON delay_jobs (topic, updated_at, id) WHERE state = 'dead';
CREATE INDEX delay_jobs_over ON delay_jobs (updated_at) WHERE state IN ('done', 'deleted', 'expired');

CREATE TABLE topic_settings (
    topic      TEXT PRIMARY KEY,
    paused_at  DATETIME, -- null: jobs are handed out
    updated_at DATETIME NOT NULL
);

-- +goose Down

DROP TABLE topic_settings;
DROP TABLE delay_jobs;
