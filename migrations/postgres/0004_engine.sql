-- +goose Up

-- Dead letters: work that failed for good. The loader leaves out what is here at its present
-- version, so that filling an empty queue does not revive it.
CREATE TABLE job_failures (
    job      text NOT NULL,
    key      text NOT NULL,
    version  bigint NOT NULL,
    attempts integer NOT NULL,
    error    text NOT NULL,
    dead_at  timestamptz NOT NULL,
    PRIMARY KEY (job, key)
);

CREATE INDEX job_failures_dead ON job_failures (dead_at DESC);

-- +goose Down

DROP TABLE job_failures;
