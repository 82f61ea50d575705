-- +goose Up

-- How late each kind of job ran: how many executions of an hour began no later than bound after
-- their due time, and later than the next smaller bound. Every process adds to it.
CREATE TABLE job_lateness (
    job      text        NOT NULL,
    hour     timestamptz NOT NULL,
    bound_us bigint      NOT NULL, -- 0: later than all bounds
    count    bigint      NOT NULL,
    max_us   bigint      NOT NULL, -- the latest of them
    PRIMARY KEY (hour, job, bound_us)
);

-- Codes by which a device at a room's door is paired: one for each room, for a few minutes and
-- for one device.
CREATE TABLE door_codes (
    room_id    bigint      PRIMARY KEY REFERENCES rooms (id),
    user_id    bigint      NOT NULL REFERENCES users (id), -- the room's own, in whose name the device acts
    code       text        NOT NULL CONSTRAINT door_codes_code_unique UNIQUE,
    guesses    integer     NOT NULL DEFAULT 0, -- wrong codes that were tried while it was good
    expires_at timestamptz NOT NULL
);

-- +goose Down

DROP TABLE door_codes;
DROP TABLE job_lateness;
