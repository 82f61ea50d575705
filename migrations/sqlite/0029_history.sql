-- +goose Up

-- What happened to meetings is not rewritten either. What is older than a month may go, with its meeting.
-- +goose StatementBegin
CREATE TRIGGER history_is_kept BEFORE UPDATE ON history
BEGIN
    SELECT RAISE(ABORT, 'history_append_only');
END;

CREATE TRIGGER history_is_kept_a_month BEFORE DELETE ON history
WHEN OLD.at > (unixepoch() - 30 * 86400) * 1000000
BEGIN
    SELECT RAISE(ABORT, 'history_append_only');
END;
-- +goose StatementEnd

-- +goose Down

DROP TRIGGER history_is_kept_a_month;
DROP TRIGGER history_is_kept;
