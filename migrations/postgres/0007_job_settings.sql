-- +goose Up

-- What operators decided about strategies; a queue may forget it, this does not.
CREATE TABLE job_settings (
    job       text PRIMARY KEY,
    paused_at timestamptz, -- null: not paused
    paused_by text NOT NULL DEFAULT ''
);

-- A dead letter that an operator gave up for good: the row stays, so that the loader goes on
-- leaving out the work, and nobody is shown it any more.
ALTER TABLE job_failures ADD COLUMN discarded_at timestamptz;

-- +goose Down

ALTER TABLE job_failures DROP COLUMN discarded_at;
DROP TABLE job_settings;
