-- +goose Up

-- Jobs of other systems. This is the truth; a queue holds those that are due soon. revision
-- grows with every new schedule and is the version of the queue's message. lease_token is not
-- null while somebody was given the job and has not said how it ended.
CREATE TABLE delay_jobs (
    topic        text NOT NULL,
    id           text NOT NULL,
    version      bigint NOT NULL, -- the caller's
    revision     bigint NOT NULL,
    due_at       timestamptz NOT NULL,
    body         text NOT NULL, -- JSON, as it was sent
    ttr_ms       bigint NOT NULL,
    ttl_ms       bigint NOT NULL, -- 0: does not expire
    max_attempts integer NOT NULL, -- -1: no limit
    expires_at   timestamptz,
    state        text NOT NULL CONSTRAINT delay_jobs_state CHECK (state IN ('pending', 'done', 'deleted', 'dead', 'expired')),
    attempts     integer NOT NULL,
    last_error   text NOT NULL,
    lease_token  bigint,
    lease_until  timestamptz,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    PRIMARY KEY (topic, id)
);

CREATE INDEX delay_jobs_pending ON delay_jobs (due_at, topic, id) WHERE state = 'pending';
CREATE INDEX delay_jobs_dead ON delay_jobs (topic, updated_at, id) WHERE state = 'dead';
CREATE INDEX delay_jobs_over ON delay_jobs (updated_at) WHERE state IN ('done', 'deleted', 'expired');

CREATE TABLE topic_settings (
    topic      text PRIMARY KEY,
    paused_at  timestamptz, -- null: jobs are handed out
    updated_at timestamptz NOT NULL
);

-- +goose Down

DROP TABLE topic_settings;
DROP TABLE delay_jobs;
