-- +goose Up

-- What users named and colored calendars in their programs. Others do not see it.
CREATE TABLE dav_properties (
    user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    path    text NOT NULL,                 -- of the calendar, such as /dav/calendars/rooms/1/meetings/
    space   text NOT NULL,                 -- name space of the property
    name    text NOT NULL,
    value   text NOT NULL,                 -- XML
    PRIMARY KEY (user_id, path, space, name)
);

-- +goose Down

DROP TABLE dav_properties;
