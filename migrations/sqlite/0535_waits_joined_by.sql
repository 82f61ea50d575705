-- +goose Up

-- Who joined the waiting list for a user, such as a delegate; null: the user.
ALTER TABLE waitlist ADD COLUMN joined_by INTEGER REFERENCES users (id);

-- +goose Down

ALTER TABLE waitlist DROP COLUMN joined_by;
