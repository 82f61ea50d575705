-- +goose Up

-- Topics whose jobs are posted to a receiver instead of being popped. The secret signs each
-- post, so it is kept as it is.
CREATE TABLE topic_webhooks (
    topic       text PRIMARY KEY,
    url         text NOT NULL,
    secret      text NOT NULL,
    concurrency integer NOT NULL,
    timeout_ms  integer NOT NULL,
    version     bigint NOT NULL,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL
);

-- What one topic holds, and since when it is due.
CREATE INDEX delay_jobs_of_topic ON delay_jobs (topic, due_at) WHERE state = 'pending';

-- What tidying up looks for, so that it costs nothing while nothing is over.
CREATE INDEX delay_jobs_expiring ON delay_jobs (expires_at) WHERE state = 'pending' AND expires_at IS NOT NULL;
CREATE INDEX delay_jobs_exhausted ON delay_jobs (lease_until) WHERE state = 'pending' AND max_attempts > 0 AND attempts >= max_attempts;

-- Scopes of topics now count by themselves, whoever the token belongs to, and only admins may
-- give them. What others gave themselves while it had no effect must not begin to have one.
DELETE FROM tokens WHERE CAST(scopes AS text) LIKE '%"topics:%' AND user_id IN (SELECT id FROM users WHERE role <> 'admin');

-- +goose Down

DROP INDEX delay_jobs_exhausted;
DROP INDEX delay_jobs_expiring;
DROP INDEX delay_jobs_of_topic;
DROP TABLE topic_webhooks;
