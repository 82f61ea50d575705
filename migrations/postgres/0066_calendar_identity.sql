-- +goose Up

-- What the UIDs of events in calendars end in. It never changes, for a calendar knows an event
-- by nothing else. Events of before end in a domain of the configuration, which the first start
-- stores together with what all later ones end in.
CREATE TABLE calendar_identity (
    only_row       integer PRIMARY KEY DEFAULT 1 CHECK (only_row = 1),
    domain         text,            -- null until the first start
    former_domain  text,            -- of the events up to these:
    former_meeting bigint NOT NULL,
    former_series  bigint NOT NULL
);
INSERT INTO calendar_identity (former_meeting, former_series)
SELECT COALESCE((SELECT max(id) FROM meetings), 0), COALESCE((SELECT max(id) FROM series), 0);

-- +goose Down

DROP TABLE calendar_identity;
