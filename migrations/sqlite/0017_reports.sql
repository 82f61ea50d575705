-- +goose Up

-- How late each kind of job ran: how many executions of an hour began no later than bound after
-- their due time, and later than the next smaller bound. Every process adds to it.
CREATE TABLE job_lateness (
    job      TEXT     NOT NULL,
    hour     DATETIME NOT NULL,
    bound_us INTEGER  NOT NULL, -- 0: later than all bounds
    count    INTEGER  NOT NULL,
    max_us   INTEGER  NOT NULL, -- the latest of them
    PRIMARY KEY (hour, job, bound_us)
);

-- Codes by which a device at a room's door is paired: one for each room, for a few minutes and
-- for one device.
CREATE TABLE door_codes (
    room_id    INTEGER  PRIMARY KEY REFERENCES rooms (id),
    user_id    INTEGER  NOT NULL REFERENCES users (id), -- the room's own, in whose name the device acts
    code       TEXT     NOT NULL CONSTRAINT door_codes_code_unique UNIQUE,
    guesses    INTEGER  NOT NULL DEFAULT 0, -- wrong codes that were tried while it was good
    expires_at DATETIME NOT NULL
);

-- +goose Down

DROP TABLE door_codes;
DROP TABLE job_lateness;
