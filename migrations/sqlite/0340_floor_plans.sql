-- +goose Up

-- Floor plans: a picture of a floor, and where its rooms are.
CREATE TABLE floor_plans (
    id         INTEGER  PRIMARY KEY AUTOINCREMENT,
    site_id    INTEGER  REFERENCES sites (id) ON DELETE CASCADE,
    floor      TEXT     NOT NULL,
    picture    TEXT     NOT NULL, -- hash of the picture
    width      INTEGER  NOT NULL, -- of the picture, in pixels
    height     INTEGER  NOT NULL,
    rooms      TEXT     NOT NULL, -- JSON: where they are, relative to the picture
    version    INTEGER  NOT NULL DEFAULT 1,
    created_at DATETIME NOT NULL,
    updated_at DATETIME NOT NULL
);
CREATE TABLE floor_plan_pictures (
    plan_id INTEGER PRIMARY KEY REFERENCES floor_plans (id) ON DELETE CASCADE,
    type    TEXT NOT NULL,
    content BLOB NOT NULL
);

-- +goose Down

DROP TABLE floor_plan_pictures;
DROP TABLE floor_plans;
